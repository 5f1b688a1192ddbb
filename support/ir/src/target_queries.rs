//! What a GPU's code asks about its launch, and what a kernel declares about it.

use crate::metadata::{Operand, append_node, nodes};
use crate::module::erase_named_metadata;
use crate::symbol::Symbol;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue, GlobalValue};
use std::ffi::c_char;

unsafe extern "C" {
    fn offloom_ir_bound_queries(
        module: LLVMModuleRef,
        function: *const c_char,
        length: usize,
        bound: u32,
    ) -> usize;
    fn offloom_ir_fold_queries(
        module: LLVMModuleRef,
        function: *const c_char,
        length: usize,
        value: u32,
    ) -> usize;
    fn offloom_ir_fold_amd_launch(module: LLVMModuleRef, teams: u32, threads: u32) -> usize;
    fn offloom_ir_kernel_execution_mode(environment: LLVMValueRef) -> u8;
    fn offloom_ir_set_kernel_limits(environment: LLVMValueRef, first_field: u32, value: u32);
}

/// How a kernel's threads are used: `OMPTgtExecModeFlags` of `llvm/Frontend/OpenMP/OMPDeviceConstants.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionMode {
    /// One thread starts, and has workers for parallel regions. The hardware starts more threads than the
    /// team has.
    Generic,
    /// All threads execute the kernel.
    Spmd,
}

/// The limits that a kernel's environment holds: pairs of a least and a greatest number.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// Threads of a team.
    Threads,
    /// Teams.
    Teams,
}

/// Replaces the calls of a function without parameters (or of an intrinsic) by the number it returns. How
/// many there were.
pub fn fold_queries(module: &Module<'_>, function: &str, value: u32) -> usize {
    // SAFETY: the module is live, and the name is passed with its length.
    unsafe {
        offloom_ir_fold_queries(
            module.as_mut_ptr(),
            function.as_ptr().cast(),
            function.len(),
            value,
        )
    }
}

/// Replaces what an AMD GPU's code reads of its launch, from the packet and from what follows the kernel's
/// arguments, by the numbers of teams and of threads; one that is 0 is not known. How many loads there were.
pub fn fold_amd_launch(module: &Module<'_>, teams: u32, threads: u32) -> usize {
    // SAFETY: the module is live.
    unsafe { offloom_ir_fold_amd_launch(module.as_mut_ptr(), teams, threads) }
}

/// Has LLVM know that the calls of a function without parameters (or of an intrinsic) return numbers below
/// `bound`. How many there were.
pub fn bound_queries(module: &Module<'_>, function: &str, bound: u32) -> usize {
    // SAFETY: the module is live, and the name is passed with its length.
    unsafe {
        offloom_ir_bound_queries(
            module.as_mut_ptr(),
            function.as_ptr().cast(),
            function.len(),
            bound,
        )
    }
}

/// The mode in a kernel's environment; `None` where it has none that is known.
pub fn execution_mode(environment: GlobalValue<'_>) -> Option<ExecutionMode> {
    // SAFETY: a live variable.
    match unsafe { offloom_ir_kernel_execution_mode(environment.as_value_ref()) } {
        1 => Some(ExecutionMode::Generic),
        // Also what was generic and runs as SPMD.
        2 | 3 => Some(ExecutionMode::Spmd),
        _ => None,
    }
}

/// Sets the least and the greatest number in a kernel's environment to one value. Does nothing with a
/// variable of another type.
pub fn set_limits(environment: GlobalValue<'_>, limit: Limit, value: u32) {
    let first_field = match limit {
        Limit::Threads => 3,
        Limit::Teams => 5,
    };
    // SAFETY: a live variable.
    unsafe { offloom_ir_set_kernel_limits(environment.as_value_ref(), first_field, value) }
}

/// What NVPTX code generation of LLVM 19 reads about kernels.
const ANNOTATIONS: &str = "nvvm.annotations";

/// Sets a number that NVPTX code generation of LLVM 19 reads about a kernel, in place of the one there may
/// be.
pub fn set_nvvm_annotation(module: &Module<'_>, kernel: FunctionValue<'_>, key: &str, value: u32) {
    remove_nvvm_annotation(module, kernel, key);
    let node = [
        Operand::Symbol(Symbol::from(kernel.as_global_value())),
        Operand::String(key.to_owned()),
        Operand::Integer(value),
    ];
    append_node(module, ANNOTATIONS, &node);
}

/// Whether there is such a number.
pub fn has_nvvm_annotation(module: &Module<'_>, kernel: FunctionValue<'_>, key: &str) -> bool {
    let kernel = Symbol::from(kernel.as_global_value());
    nodes(module, ANNOTATIONS)
        .iter()
        .any(|node| match node.as_slice() {
            [Operand::Symbol(symbol), Operand::String(name), _] => *symbol == kernel && name == key,
            _ => false,
        })
}

/// Removes such a number.
pub fn remove_nvvm_annotation(module: &Module<'_>, kernel: FunctionValue<'_>, key: &str) {
    let kernel = Symbol::from(kernel.as_global_value());
    let mut all = nodes(module, ANNOTATIONS);
    let readable = all
        .iter()
        .flatten()
        .all(|operand| !matches!(operand, Operand::Other));
    if !readable {
        return;
    }
    let is_old = |node: &[Operand<'_>]| match node {
        [Operand::Symbol(symbol), Operand::String(name), _] => *symbol == kernel && name == key,
        _ => false,
    };
    all.retain(|node| !is_old(node));
    erase_named_metadata(module, ANNOTATIONS);
    for node in &all {
        append_node(module, ANNOTATIONS, node);
    }
}
