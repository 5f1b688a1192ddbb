//! Every pass this plugin offers, and how LLVM gets at them.
//!
//! To add one: a file of its own with a `PASS`, a row in [`PASSES`] in alphabetical order, a folder
//! `test/passes/<name>/`.

use crate::environment::UnaskedParameters;
use crate::error::PassError;
use crate::parameters::Parameters;
use crate::{
    offload_device, offload_entries, offload_internalize, offload_match_bits, offload_profitability,
    offload_prune, offload_retarget, offload_runtime, offload_specialize, offload_team_state,
    offload_visibility,
};
use llvm_plugin::diagnostics::{Severity, diagnose};
use llvm_plugin::{
    LlvmModulePass, ModuleAnalysisManager, ModulePassManager, PassBuilder, PipelineParsing, PreservedAnalyses,
};
use offloom_ir::inkwell::module::Module;
use std::cell::RefCell;
use std::rc::Rc;

/// Every pass.
pub(crate) const PASSES: &[Pass] = &[
    offload_device::PASS,
    offload_entries::PASS,
    offload_internalize::PASS,
    offload_match_bits::PASS,
    offload_profitability::PASS,
    offload_prune::PASS,
    offload_retarget::PASS,
    offload_runtime::PASS,
    offload_specialize::PASS,
    offload_specialize::ALIGN,
    offload_specialize::ARGS,
    offload_specialize::CONTENTS,
    offload_specialize::LAUNCH,
    offload_team_state::PASS,
    offload_visibility::PASS,
];

const _: () = assert!(is_sorted(), "PASSES is in alphabetical order");

/// Names for the passes that one side of the offloading needs.
const ALIASES: &[Alias] = &[
    Alias {
        name: "offload-device-module",
        parameters: offload_device::PASS.parameters,
        passes: &[offload_device::PASS],
    },
    Alias {
        name: "offload-host",
        parameters: offload_entries::PASS.parameters,
        passes: &[offload_entries::PASS],
    },
];

/// A name for several passes.
struct Alias {
    name: &'static str,
    /// Those of all of its passes, each of which takes its own.
    parameters: &'static [&'static str],
    passes: &'static [Pass],
}

/// A pass over a module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pass {
    /// Its name in a pipeline.
    pub(crate) name: &'static str,
    /// The parameters it has.
    pub(crate) parameters: &'static [&'static str],
    /// Does its work. On an error the module may be changed in part: the compilation fails.
    pub(crate) run: fn(&Module<'_>, &Parameters) -> Result<PreservedAnalyses, PassError>,
    /// Where it runs when nobody named it, as under `clang -fpass-plugin`.
    pub(crate) unasked: Option<Unasked>,
}

/// When a pass runs without having been named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unasked {
    /// The place in the pipeline.
    pub(crate) at: ExtensionPoint,
    /// Whether the module is one that the pass is for. Other modules it must leave alone.
    pub(crate) concerns: fn(&Module<'_>) -> bool,
}

/// Places in LLVM's pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtensionPoint {
    /// The start of a compile.
    PipelineStart,
    /// The start of full LTO, on the merged module.
    FullLtoEarly,
}

/// Registers every pass under its name and at its place.
pub(crate) fn register(builder: &mut PassBuilder) {
    let unfinished = RefCell::new(None);
    builder.add_module_pipeline_parsing_callback(move |text, manager| parse(text, manager, &unfinished));
    let parameters = Rc::new(UnaskedParameters::from_environment());
    let of_lto = Rc::clone(&parameters);
    builder.add_pipeline_start_ep_callback(move |manager, _| {
        add_unasked(manager, ExtensionPoint::PipelineStart, &parameters);
    });
    builder.add_full_lto_early_ep_callback(move |manager, _| {
        add_unasked(manager, ExtensionPoint::FullLtoEarly, &of_lto);
    });
}

/// The text of a pass that LLVM may have handed over in pieces.
type PassText = Rc<RefCell<String>>;

/// Reads one piece of a pipeline.
///
/// LLVM cuts a pipeline at every comma, also at those inside of `<>`: `offload-internalize<keep=a,b>` arrives
/// as `offload-internalize<keep=a` and `b>`. The pass is added with the first piece, and the others are put
/// behind it. (A piece that is the name of one of LLVM's passes never gets here; `keep=a;keep=b` has no such
/// trap.)
fn parse(
    text: &str,
    manager: &mut ModulePassManager<'_>,
    unfinished: &RefCell<Option<PassText>>,
) -> PipelineParsing {
    let name = text.split('<').next().unwrap_or_default();
    let shared = if let Some((passes, known)) = named(name) {
        let shared = PassText::new(RefCell::new(text.to_owned()));
        manager.add_pass(NamedPasses {
            passes,
            known,
            text: Rc::clone(&shared),
        });
        if !text.contains('<') {
            unfinished.replace(None);
            return PipelineParsing::Parsed;
        }
        shared
    } else {
        let Some(shared) = unfinished.take() else {
            return PipelineParsing::NotParsed;
        };
        shared.borrow_mut().push(',');
        shared.borrow_mut().push_str(text);
        shared
    };
    unfinished.replace((!text.ends_with('>')).then_some(shared));
    PipelineParsing::Parsed
}

/// The passes of that name or alias, and the parameters they have.
fn named(name: &str) -> Option<(&'static [Pass], &'static [&'static str])> {
    if let Some(pass) = PASSES.iter().find(|pass| pass.name == name) {
        return Some((std::slice::from_ref(pass), pass.parameters));
    }
    let alias = ALIASES.iter().find(|alias| alias.name == name)?;
    Some((alias.passes, alias.parameters))
}

fn add_unasked(
    manager: &mut ModulePassManager<'_>,
    at: ExtensionPoint,
    parameters: &Result<UnaskedParameters, String>,
) {
    let parameters = match parameters {
        Ok(parameters) => parameters,
        Err(problem) => return manager.add_pass(ReportProblem(problem.clone())),
    };
    for pass in PASSES {
        if let Some(unasked) = pass.unasked.filter(|unasked| unasked.at == at) {
            manager.add_pass(UnaskedPass {
                pass,
                concerns: unasked.concerns,
                parameters: parameters.of(pass),
            });
        }
    }
}

/// Passes that somebody named.
struct NamedPasses {
    passes: &'static [Pass],
    /// The parameters they have.
    known: &'static [&'static str],
    /// The name with its parameters; complete when the passes run.
    text: PassText,
}

impl LlvmModulePass for NamedPasses {
    fn run_pass(&self, module: &mut Module<'_>, _: &ModuleAnalysisManager) -> PreservedAnalyses {
        let text = self.text.borrow();
        let mut preserved = PreservedAnalyses::All;
        for pass in self.passes {
            let parameters = Parameters::parse(&text, self.known);
            match parameters.and_then(|parameters| (pass.run)(module, &parameters)) {
                Ok(PreservedAnalyses::All) => {}
                Ok(changed) => preserved = changed,
                Err(error) => return report(pass, module, &error),
            }
        }
        preserved
    }
}

/// A pass at its extension point.
struct UnaskedPass {
    pass: &'static Pass,
    concerns: fn(&Module<'_>) -> bool,
    parameters: Parameters,
}

impl LlvmModulePass for UnaskedPass {
    fn run_pass(&self, module: &mut Module<'_>, _: &ModuleAnalysisManager) -> PreservedAnalyses {
        if !(self.concerns)(module) {
            return PreservedAnalyses::All;
        }
        (self.pass.run)(module, &self.parameters).unwrap_or_else(|error| report(self.pass, module, &error))
    }
}

/// Fails every compile with a message, in place of the passes that would run unasked.
struct ReportProblem(String);

impl LlvmModulePass for ReportProblem {
    fn run_pass(&self, module: &mut Module<'_>, _: &ModuleAnalysisManager) -> PreservedAnalyses {
        diagnose(module, Severity::Error, &self.0);
        PreservedAnalyses::All
    }
}

fn report(pass: &Pass, module: &Module<'_>, error: &PassError) -> PreservedAnalyses {
    let file = module.get_name().to_string_lossy();
    diagnose(
        module,
        Severity::Error,
        &format!("{file}: {}: {error}", pass.name),
    );
    PreservedAnalyses::None
}

const fn is_sorted() -> bool {
    let mut index = 1;
    while index < PASSES.len() {
        if !is_before(PASSES[index - 1].name.as_bytes(), PASSES[index].name.as_bytes()) {
            return false;
        }
        index += 1;
    }
    true
}

const fn is_before(first: &[u8], second: &[u8]) -> bool {
    let mut index = 0;
    while index < first.len() && index < second.len() {
        if first[index] != second[index] {
            return first[index] < second[index];
        }
        index += 1;
    }
    first.len() < second.len()
}
