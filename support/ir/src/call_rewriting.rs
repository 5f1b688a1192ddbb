//! Calls that become calls of something else, or a number.

use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::{AsValueRef, BasicValueEnum, CallSiteValue, FunctionValue, InstructionValue};

use crate::value_uses::called_function;

unsafe extern "C" {
    fn offloom_ir_is_library_function(function: LLVMValueRef) -> bool;
    fn offloom_ir_can_be_inlined(function: LLVMValueRef) -> bool;
    fn offloom_ir_inline_call(call: LLVMValueRef) -> bool;
}

/// Whether LLVM knows the function as one of the C or mathematics library's of the module's target.
pub fn is_library_function(function: FunctionValue<'_>) -> bool {
    // SAFETY: a live function of a module.
    unsafe { offloom_ir_is_library_function(function.as_value_ref()) }
}

/// Whether a function's code means the same in another function, which it does not where the address of a
/// label is taken. To be asked before [`inline_call`].
pub fn can_be_inlined(function: FunctionValue<'_>) -> bool {
    // SAFETY: a live function.
    unsafe { offloom_ir_can_be_inlined(function.as_value_ref()) }
}

/// Replaces a call by the code of the function that it calls. Whether it could, and then the call is gone.
pub fn inline_call(call: CallSiteValue<'_>) -> bool {
    // SAFETY: a live call; its caller takes over the handle.
    unsafe { offloom_ir_inline_call(call.as_value_ref()) }
}

/// Has a direct call go to another function of the same type. Whether it could.
pub fn set_callee<'ctx>(call: InstructionValue<'ctx>, callee: FunctionValue<'ctx>) -> bool {
    let Some(before) = called_function(call) else {
        return false;
    };
    if before.get_type() != callee.get_type() {
        return false;
    }
    // SAFETY: a live call, whose last operand is the function that it calls; the new one is of the same type.
    unsafe {
        let last = llvm::LLVMGetNumOperands(call.as_value_ref()).cast_unsigned() - 1;
        llvm::LLVMSetOperand(call.as_value_ref(), last, callee.as_value_ref());
    }
    true
}

/// Deletes an instruction that is no terminator; `value` takes the place of what it computes. Whether that
/// was possible: the value must be of the same type, and may be left out only where nothing uses the result.
pub fn replace_instruction<'ctx>(
    instruction: InstructionValue<'ctx>,
    value: Option<BasicValueEnum<'ctx>>,
) -> bool {
    let old = instruction.as_value_ref();
    // SAFETY: live values of the same type; the instruction has no uses left when it is erased.
    unsafe {
        if !llvm::LLVMIsATerminatorInst(old).is_null() {
            return false;
        }
        match value {
            Some(value) if llvm::LLVMTypeOf(old) == llvm::LLVMTypeOf(value.as_value_ref()) => {
                llvm::LLVMReplaceAllUsesWith(old, value.as_value_ref());
            }
            None if llvm::LLVMGetFirstUse(old).is_null() => {}
            _ => return false,
        }
        llvm::LLVMInstructionEraseFromParent(old);
    }
    true
}
