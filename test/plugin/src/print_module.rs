//! `test-print-module<FILE>`: writes the module's text to a file, in the middle of a pipeline.
//!
//! LLVM's own `print` writes to the error stream, unbuffered and mixed with messages.

use llvm_plugin::diagnostics::{Severity, diagnose};
use llvm_plugin::inkwell::module::Module;
use llvm_plugin::{LlvmModulePass, ModuleAnalysisManager, PassBuilder, PipelineParsing, PreservedAnalyses};

pub(crate) fn register(builder: &mut PassBuilder) {
    builder.add_module_pipeline_parsing_callback(|text, manager| {
        let parameter = text
            .strip_prefix("test-print-module<")
            .and_then(|rest| rest.strip_suffix('>'));
        let Some(file) = parameter else {
            return PipelineParsing::NotParsed;
        };
        manager.add_pass(PrintModule(file.to_owned()));
        PipelineParsing::Parsed
    });
}

/// Prints to the file of this name.
struct PrintModule(String);

impl LlvmModulePass for PrintModule {
    fn run_pass(&self, module: &mut Module<'_>, _: &ModuleAnalysisManager) -> PreservedAnalyses {
        if let Err(error) = module.print_to_file(&self.0) {
            let message = format!("cannot write `{}`: {}", self.0, error.to_string_lossy());
            diagnose(module, Severity::Error, &message);
        }
        PreservedAnalyses::All
    }
}
