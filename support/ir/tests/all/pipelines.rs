//! Modules that go through pipelines, for tests that read what comes of them.

use offloom_ir::codegen::{MachineOptions, run_pipeline, target_machine};
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::targets::TargetMachine;
use offloom_ir::jit_diagnostics::CollectedErrors;

use crate::parse;

/// Any x86_64 processor.
#[expect(clippy::unwrap_used, reason = "a test without its target machine has failed")]
pub(crate) fn machine() -> TargetMachine {
    target_machine(&MachineOptions {
        triple: "x86_64-pc-linux-gnu",
        cpu: "",
        features: "",
        optimization_level: 3,
    })
    .unwrap()
}

/// The text of a module once it has gone through a pipeline, for any x86_64 processor.
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot optimise its module has failed"
)]
pub(crate) fn optimized(text: &str, pipeline: &str) -> String {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let module = parse(&context, text);
    run_pipeline(&module, &machine(), &errors, pipeline).unwrap();
    module.verify().unwrap();
    module.to_string()
}
