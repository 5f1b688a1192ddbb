//! Floating-point operations whose result depends on how they are compiled, made to depend on it no longer.

use std::ffi::c_char;

use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::llvm_sys::target_machine::LLVMTargetMachineRef;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use inkwell::values::{AsValueRef as _, FunctionValue};

use crate::codegen::{CodegenError, run_by};

unsafe extern "C" {
    fn offloom_ir_run_until_vectorized(
        module: LLVMModuleRef,
        machine: LLVMTargetMachineRef,
        pipeline: *const c_char,
        length: usize,
    ) -> bool;
    fn offloom_ir_is_compiled_in_many_ways(module: LLVMModuleRef, root: LLVMValueRef) -> bool;
    fn offloom_ir_inexact_function(module: LLVMModuleRef, root: LLVMValueRef) -> LLVMValueRef;
    fn offloom_ir_pin_library_calls(module: LLVMModuleRef);
    fn offloom_ir_fuse_operations(module: LLVMModuleRef);
    fn offloom_ir_expand_operations(module: LLVMModuleRef);
    fn offloom_ir_spell_out_roundings(module: LLVMModuleRef);
    fn offloom_ir_has_conversions_of_processor(module: LLVMModuleRef) -> bool;
    fn offloom_ir_forget_denormal_modes(module: LLVMModuleRef);
    fn offloom_ir_mark_bits_matched(module: LLVMModuleRef);
    fn offloom_ir_are_bits_matched(module: LLVMModuleRef) -> bool;
}

/// Runs a pipeline in the syntax of `opt -passes` for each function up to where its loops are vectorised.
/// Loops whose order of operations the vectoriser chooses (`simd` with a floating-point value carried from
/// one iteration to the next) are vectorised, or marked never to be. Loops that make integers of fewer than
/// 32 bits of numbers are vectorised, where the vectoriser wants to; and a function with straight-line code,
/// or with loops to unroll, of which it may make vectors of such conversions is run up to after that. Other
/// loops stay as they are.
///
/// # Errors
/// When the text is not a pipeline.
pub fn run_until_vectorized(
    module: &Module<'_>,
    machine: &TargetMachine,
    pipeline: &str,
) -> Result<(), CodegenError> {
    // SAFETY: the shim is of this kind.
    unsafe { run_by(offloom_ir_run_until_vectorized, module, machine, None, pipeline) }
}

/// Whether code that `kernel` can get to, or any of the module, has operations whose result may depend on how
/// they are compiled: what the functions here are for.
pub fn is_compiled_in_many_ways<'ctx>(module: &Module<'ctx>, kernel: Option<FunctionValue<'ctx>>) -> bool {
    // SAFETY: module and function are live.
    unsafe { offloom_ir_is_compiled_in_many_ways(module.as_mut_ptr(), root(kernel)) }
}

/// A function with an instruction that LLVM may compute in more than one way (a fast-math flag), among those
/// that `kernel` can get to, or all.
pub fn function_with_fast_math<'ctx>(
    module: &Module<'ctx>,
    kernel: Option<FunctionValue<'ctx>>,
) -> Option<FunctionValue<'ctx>> {
    // SAFETY: module and function are live; the answer is null or one of the module's functions.
    unsafe { FunctionValue::new(offloom_ir_inexact_function(module.as_mut_ptr(), root(kernel))) }
}

fn root(kernel: Option<FunctionValue<'_>>) -> LLVMValueRef {
    kernel.map_or(std::ptr::null_mut(), |kernel| kernel.as_value_ref())
}

/// Has calls of mathematical functions stay as they are: not rewritten because an argument is a constant, not
/// folded with the compiling machine's library. Those that are correctly rounded (square root, rounding, ...)
/// are left alone.
pub fn pin_library_calls(module: &Module<'_>) {
    // SAFETY: the module is live, and only attributes of calls change.
    unsafe { offloom_ir_pin_library_calls(module.as_mut_ptr()) }
}

/// Has every `llvm.fmuladd` of numbers that the function's processor multiplies and adds at once (of x86 and
/// AArch64; NVIDIA's GPUs do it for all) be that, and nothing else: the vectoriser takes those of a sum
/// apart, and LLVM's folding those whose product is a constant, which code generation fuses. Handles to these
/// calls are dead afterwards.
pub fn fuse_operations(module: &Module<'_>) {
    // SAFETY: the module is live.
    unsafe { offloom_ir_fuse_operations(module.as_mut_ptr()) }
}

/// For x86 and AArch64: takes each `llvm.fmuladd` apart for whose type the function's processor has no fused
/// form, and for x86 spells `llvm.minnum` and `llvm.maxnum` out, as compares and selects or as the call of
/// C's library that they come to, so that neither constants nor a wider processor change their result. Has
/// conversions to integers of fewer than 32 bits give for every number what they give ahead of time; where
/// [`has_conversions_of_processor`], for that processor only. Handles to these calls and conversions are dead
/// afterwards.
pub fn expand_operations(module: &Module<'_>) {
    // SAFETY: the module is live.
    unsafe { offloom_ir_expand_operations(module.as_mut_ptr()) }
}

/// Has operations whose result code generation for the function's processor rounds twice give that, whether
/// they are folded or not: integers become `__bf16` by way of `float`, and `__bf16` is multiplied and added
/// as `float`. Such operations on `_Float16` are not folded. Handles to these calls and conversions are dead
/// afterwards.
pub fn spell_out_roundings(module: &Module<'_>) {
    // SAFETY: the module is live.
    unsafe { offloom_ir_spell_out_roundings(module.as_mut_ptr()) }
}

/// Marks the module as one in which all operations are settled: later pipelines keep their order.
pub fn mark_bits_matched(module: &Module<'_>) {
    // SAFETY: the module is live.
    unsafe { offloom_ir_mark_bits_matched(module.as_mut_ptr()) }
}

/// Whether the module was marked by [`mark_bits_matched`].
pub fn are_bits_matched(module: &Module<'_>) -> bool {
    // SAFETY: the module is live.
    unsafe { offloom_ir_are_bits_matched(module.as_mut_ptr()) }
}

/// Whether the module makes vectors of integers of fewer than 32 bits of vectors of numbers, or integers of
/// unusual sizes. For numbers that do not fit, x86 processors with other features give other integers.
pub fn has_conversions_of_processor(module: &Module<'_>) -> bool {
    // SAFETY: the module is live.
    unsafe { offloom_ir_has_conversions_of_processor(module.as_mut_ptr()) }
}

/// Has very small numbers (denormal ones) be what the processor makes of them, instead of the zeros that
/// `-fdenormal-fp-math` has LLVM fold to. For x86 and AArch64, which are not told of that.
pub fn forget_denormal_modes(module: &Module<'_>) {
    // SAFETY: the module is live, and only attributes change.
    unsafe { offloom_ir_forget_denormal_modes(module.as_mut_ptr()) }
}
