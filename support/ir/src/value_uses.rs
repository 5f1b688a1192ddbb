//! Who uses a value, as which operand, and what the other operands are.

use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::{AsValueRef, BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue};

use crate::basic_value::basic_value;

/// One use of a value by an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueUse<'ctx> {
    /// The instruction.
    pub instruction: InstructionValue<'ctx>,
    /// Which of its operands the value is, from 0.
    pub operand: u32,
}

/// The uses of an argument or of an instruction's result.
pub fn value_uses(value: BasicValueEnum<'_>) -> Vec<ValueUse<'_>> {
    let mut found = Vec::new();
    // SAFETY: a live value, whose list of uses does not change while it is walked; only instructions are
    // handed out.
    unsafe {
        let mut next = llvm::LLVMGetFirstUse(value.as_value_ref());
        while !next.is_null() {
            let user = llvm::LLVMGetUser(next);
            next = llvm::LLVMGetNextUse(next);
            if llvm::LLVMIsAInstruction(user).is_null() {
                continue;
            }
            let count = llvm::LLVMGetNumOperands(user).cast_unsigned();
            for operand in 0..count {
                let found_use = ValueUse {
                    instruction: InstructionValue::new(user),
                    operand,
                };
                // A user with several of them is in the list as often.
                if llvm::LLVMGetOperand(user, operand) == value.as_value_ref() && !found.contains(&found_use)
                {
                    found.push(found_use);
                }
            }
        }
    }
    found
}

/// The operand, if it is a number, a pointer or a vector of these; constants included.
pub fn operand<'ctx>(instruction: InstructionValue<'ctx>, index: u32) -> Option<BasicValueEnum<'ctx>> {
    let instruction = instruction.as_value_ref();
    // SAFETY: a live instruction, asked only for operands that it has.
    unsafe {
        if index >= llvm::LLVMGetNumOperands(instruction).cast_unsigned() {
            return None;
        }
        no_aggregate(llvm::LLVMGetOperand(instruction, index))
    }
}

/// Whether the value is a constant.
pub fn is_constant(value: BasicValueEnum<'_>) -> bool {
    // SAFETY: a live value.
    unsafe { llvm::LLVMIsConstant(value.as_value_ref()) != 0 }
}

/// Whether the operand is a constant.
pub fn is_constant_operand(instruction: InstructionValue<'_>, index: u32) -> bool {
    operand(instruction, index).is_some_and(is_constant)
}

/// Whether an addition, subtraction, multiplication or left shift says of neither reading of its operands
/// that it does not overflow (LLVM's `nuw` and `nsw`).
pub fn may_overflow(instruction: InstructionValue<'_>) -> bool {
    let overflows = matches!(
        instruction.get_opcode(),
        InstructionOpcode::Add | InstructionOpcode::Sub | InstructionOpcode::Mul | InstructionOpcode::Shl
    );
    let instruction = instruction.as_value_ref();
    // SAFETY: a live instruction of a kind that has both flags.
    overflows && unsafe { llvm::LLVMGetNUW(instruction) == 0 && llvm::LLVMGetNSW(instruction) == 0 }
}

/// What the instruction computes, if that is a number, a pointer or a vector of these.
pub fn result<'ctx>(instruction: InstructionValue<'ctx>) -> Option<BasicValueEnum<'ctx>> {
    // SAFETY: a live instruction.
    unsafe { no_aggregate(instruction.as_value_ref()) }
}

/// The function that an instruction calls by name, defined here or not; `None` for anything else.
pub fn called_function<'ctx>(instruction: InstructionValue<'ctx>) -> Option<FunctionValue<'ctx>> {
    let instruction = instruction.as_value_ref();
    // SAFETY: a live instruction; only calls are asked for a callee.
    unsafe {
        if llvm::LLVMIsACallInst(instruction).is_null() && llvm::LLVMIsAInvokeInst(instruction).is_null() {
            return None;
        }
        let callee = llvm::LLVMGetCalledValue(instruction);
        if llvm::LLVMIsAFunction(callee).is_null() {
            return None;
        }
        FunctionValue::new(callee)
    }
}

/// # Safety
/// `value` is live.
unsafe fn no_aggregate<'ctx>(value: LLVMValueRef) -> Option<BasicValueEnum<'ctx>> {
    // SAFETY: as the caller promises.
    unsafe { basic_value(value) }.filter(|value| !value.is_struct_value() && !value.is_array_value())
}
