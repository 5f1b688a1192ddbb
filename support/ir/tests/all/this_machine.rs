//! Objects of this machine's code, which tests run.

#![expect(
    clippy::unwrap_used,
    reason = "a test that fails at a step that it takes has failed"
)]

use std::ffi::c_void;

use offloom_ir::codegen::{MachineOptions, emit_object, run_pipeline, target_machine};
use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::orc::Session;

use crate::parse;

/// What LLVM calls it.
pub(crate) const TRIPLE: &str = if cfg!(target_arch = "aarch64") {
    "aarch64-unknown-linux-gnu"
} else {
    "x86_64-pc-linux-gnu"
};

/// What is made of a module, once it has gone through a pipeline, if that is not empty.
pub(crate) fn object(text: &str, pipeline: &str) -> Vec<u8> {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let machine = target_machine(&MachineOptions {
        triple: TRIPLE,
        cpu: "",
        features: "",
        optimization_level: 3,
    })
    .unwrap();
    let module = parse(&context, text);
    if !pipeline.is_empty() {
        run_pipeline(&module, &machine, &errors, pipeline).unwrap();
    }
    emit_object(&module, &machine, &errors)
        .unwrap()
        .as_slice()
        .to_vec()
}

/// What `run` makes of the address of a function of a module that has gone through a pipeline. The code is
/// there as long as that takes, and finds symbols of the test's own, `given`.
pub(crate) fn with_function<R>(
    text: &str,
    pipeline: &str,
    given: &[(&str, *const c_void)],
    function: &str,
    run: impl FnOnce(*const c_void) -> R,
) -> R {
    let session = Session::start().unwrap();
    let library = session.create_dylib("test").unwrap();
    library.define_absolute(given.iter().copied()).unwrap();
    library.add_object(&object(text, pipeline), "object").unwrap();
    run(library.look_up(function).unwrap())
}
