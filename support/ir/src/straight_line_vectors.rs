//! Vectors of straight-line code where nobody knows ahead of time whether what is written overlaps what is
//! read.

use std::ffi::c_char;

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::llvm_sys::target_machine::LLVMTargetMachineRef;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;

use crate::codegen::{CodegenError, run_by};
use crate::jit_diagnostics::CollectedErrors;

unsafe extern "C" {
    fn offloom_ir_run_with_versioned_loops(
        module: LLVMModuleRef,
        machine: LLVMTargetMachineRef,
        pipeline: *const c_char,
        length: usize,
    ) -> bool;
}

/// Runs a pipeline in the syntax of `opt -passes`. Before the SLP vectoriser gets a function, innermost loops
/// that store to neighbouring places, and that the loop vectoriser has left alone, get a second form (LLVM's
/// `LoopVersioning`): control goes there if none of the memory that the loop writes overlaps other memory
/// that it uses. The SLP vectoriser itself makes no such checks, and makes no vector of stores where a load
/// between them might read what one of them wrote.
///
/// # Errors
/// When the text is not a pipeline, or when a pass reports an error.
pub fn run_with_versioned_loops(
    module: &Module<'_>,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
    pipeline: &str,
) -> Result<(), CodegenError> {
    // SAFETY: the shim is of this kind.
    unsafe {
        run_by(
            offloom_ir_run_with_versioned_loops,
            module,
            machine,
            Some(errors),
            pipeline,
        )
    }
}
