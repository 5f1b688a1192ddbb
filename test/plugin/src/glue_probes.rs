//! Passes that show what `llvm-plugin` does: `test-panic`, `test-function-panic`, `test-count-instructions`,
//! `test-print-parameters`, `test-diagnose<error|warning|remark>`.

use llvm_plugin::diagnostics::{Severity, diagnose};
use llvm_plugin::inkwell::module::Module;
use llvm_plugin::inkwell::values::FunctionValue;
use llvm_plugin::parameters::PassText;
use llvm_plugin::{
    FunctionAnalysisManager, LlvmFunctionPass, LlvmModulePass, ModuleAnalysisManager, PassBuilder,
    PipelineParsing, PreservedAnalyses,
};

pub(crate) fn register(builder: &mut PassBuilder) {
    builder.add_module_pipeline_parsing_callback(|text, manager| {
        let name = text.split('<').next().unwrap_or_default();
        match name {
            "test-panic" => manager.add_pass(Panic),
            "test-print-parameters" => manager.add_pass(PrintParameters(text.to_owned())),
            "test-diagnose" => manager.add_pass(Diagnose(text.to_owned())),
            _ => return PipelineParsing::NotParsed,
        }
        PipelineParsing::Parsed
    });
    builder.add_function_pipeline_parsing_callback(|text, manager| {
        match text {
            "test-count-instructions" => manager.add_pass(CountInstructions),
            "test-function-panic" => manager.add_pass(Panic),
            _ => return PipelineParsing::NotParsed,
        }
        PipelineParsing::Parsed
    });
}

/// Panics, which must come out as an LLVM error.
struct Panic;

impl LlvmModulePass for Panic {
    #[expect(clippy::panic, reason = "the purpose of this pass")]
    fn run_pass(&self, module: &mut Module<'_>, _: &ModuleAnalysisManager) -> PreservedAnalyses {
        panic!("on purpose, in {:?}", module.get_name());
    }
}

impl LlvmFunctionPass for Panic {
    #[expect(clippy::panic, reason = "the purpose of this pass")]
    fn run_pass(&self, function: &mut FunctionValue<'_>, _: &FunctionAnalysisManager) -> PreservedAnalyses {
        panic!("on purpose, in {:?}", function.get_name());
    }
}

/// Prints how many instructions a function has.
struct CountInstructions;

impl LlvmFunctionPass for CountInstructions {
    fn run_pass(&self, function: &mut FunctionValue<'_>, _: &FunctionAnalysisManager) -> PreservedAnalyses {
        let count: usize = function
            .get_basic_block_iter()
            .map(|block| block.get_instructions().count())
            .sum();
        eprintln!("{}: {count} instructions", function.get_name().to_string_lossy());
        PreservedAnalyses::All
    }
}

/// Prints the parameters it was given, one a line.
struct PrintParameters(String);

impl LlvmModulePass for PrintParameters {
    fn run_pass(&self, module: &mut Module<'_>, _: &ModuleAnalysisManager) -> PreservedAnalyses {
        match PassText::parse(&self.0) {
            Ok(parsed) => {
                for parameter in parsed.parameters {
                    eprintln!("{} = {:?}", parameter.key, parameter.value);
                }
            }
            Err(error) => diagnose(module, Severity::Error, &error.to_string()),
        }
        PreservedAnalyses::All
    }
}

/// Reports a message of the severity that its parameter names.
struct Diagnose(String);

impl LlvmModulePass for Diagnose {
    fn run_pass(&self, module: &mut Module<'_>, _: &ModuleAnalysisManager) -> PreservedAnalyses {
        let severity = match self.0.as_str() {
            "test-diagnose<warning>" => Severity::Warning,
            "test-diagnose<remark>" => Severity::Remark,
            _ => Severity::Error,
        };
        diagnose(module, severity, "a message of the test plugin");
        PreservedAnalyses::All
    }
}
