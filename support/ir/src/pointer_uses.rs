//! What is done with a pointer: loads, stores, calls it is handed to.

use inkwell::llvm_sys::LLVMOpcode;
use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::{
    AsValueRef, BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue, PointerValue,
};

use crate::basic_value::basic_value;

unsafe extern "C" {
    fn offloom_ir_pointer_behind(pointer: LLVMValueRef, at: LLVMValueRef, distance: *mut i64)
    -> LLVMValueRef;
    fn offloom_ir_is_derived_pointer(user: LLVMValueRef, distance: *mut i64) -> bool;
    fn offloom_ir_is_lifetime_marker(instruction: LLVMValueRef) -> bool;
    fn offloom_ir_is_local_variable(instruction: LLVMValueRef) -> bool;
    fn offloom_ir_access_size(access: LLVMValueRef) -> u64;
    fn offloom_ir_dominates(first: LLVMValueRef, second: LLVMValueRef) -> bool;
    fn offloom_ir_loaded_constant(load: LLVMValueRef, constant: LLVMValueRef, offset: u64) -> LLVMValueRef;
    fn offloom_ir_replace_load(load: LLVMValueRef, value: LLVMValueRef);
    fn offloom_ir_raise_loaded_alignment(load: LLVMValueRef, alignment: u64) -> bool;
}

/// One use of a pointer, or of one derived from it at a constant distance.
#[derive(Debug, Clone, Copy)]
pub struct PointerUse<'ctx> {
    /// The instruction.
    pub instruction: InstructionValue<'ctx>,
    /// The pointer it uses: the one asked about or a derived one.
    pub pointer: PointerValue<'ctx>,
    /// Bytes from the pointer asked about to this one.
    pub offset: i64,
    /// What the instruction does with it.
    pub kind: PointerUseKind<'ctx>,
}

/// What an instruction does with a pointer.
#[derive(Debug, Clone, Copy)]
pub enum PointerUseKind<'ctx> {
    /// Reads `size` bytes there; neither volatile nor atomic.
    Load {
        /// Bytes.
        size: u64,
    },
    /// Writes a value of `size` bytes there; neither volatile nor atomic.
    Store {
        /// What is written.
        value: BasicValueEnum<'ctx>,
        /// Bytes.
        size: u64,
    },
    /// Hands it to a function.
    Passed,
    /// Writes the pointer itself somewhere.
    Stored,
    /// Anything else: it may go anywhere.
    Other,
}

/// The uses of a pointer. Those that only say where memory begins and ends to be in use are left out.
pub fn pointer_uses(pointer: PointerValue<'_>) -> Vec<PointerUse<'_>> {
    let mut found = Vec::new();
    let mut open = vec![(pointer, 0)];
    while let Some((pointer, offset)) = open.pop() {
        // SAFETY: a live pointer, whose list of uses does not change while it is walked. Only instructions
        // are looked at closer.
        unsafe {
            let mut next = llvm::LLVMGetFirstUse(pointer.as_value_ref());
            while !next.is_null() {
                let user = llvm::LLVMGetUser(next);
                next = llvm::LLVMGetNextUse(next);
                if llvm::LLVMIsAInstruction(user).is_null() {
                    // A constant pointer in a constant: not followed.
                    continue;
                }
                let mut distance = 0;
                if offloom_ir_is_derived_pointer(user, &raw mut distance)
                    && llvm::LLVMGetOperand(user, 0) == pointer.as_value_ref()
                {
                    open.push((PointerValue::new(user), offset + distance));
                } else if !offloom_ir_is_lifetime_marker(user) {
                    let instruction = InstructionValue::new(user);
                    found.push(PointerUse {
                        instruction,
                        pointer,
                        offset,
                        kind: kind(instruction, pointer),
                    });
                }
            }
        }
    }
    found
}

fn kind<'ctx>(instruction: InstructionValue<'ctx>, pointer: PointerValue<'ctx>) -> PointerUseKind<'ctx> {
    let user = instruction.as_value_ref();
    // SAFETY: a live instruction, of which each kind is only asked for what it has.
    unsafe {
        match llvm::LLVMGetInstructionOpcode(user) {
            LLVMOpcode::LLVMLoad => match offloom_ir_access_size(user) {
                0 => PointerUseKind::Other,
                size => PointerUseKind::Load { size },
            },
            LLVMOpcode::LLVMStore => {
                let value = llvm::LLVMGetOperand(user, 0);
                if value == pointer.as_value_ref() {
                    return PointerUseKind::Stored;
                }
                match (offloom_ir_access_size(user), basic_value(value)) {
                    (0, _) | (_, None) => PointerUseKind::Other,
                    (size, Some(value)) => PointerUseKind::Store { value, size },
                }
            }
            LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke => PointerUseKind::Passed,
            _ => PointerUseKind::Other,
        }
    }
}

/// The pointer that this one was derived from by constant steps, and their sum in bytes. `at` is an
/// instruction of the same module.
pub fn pointer_behind<'ctx>(
    pointer: PointerValue<'ctx>,
    at: InstructionValue<'ctx>,
) -> (PointerValue<'ctx>, i64) {
    let mut distance = 0;
    // SAFETY: a live pointer and a live instruction; what is behind a pointer is one.
    let behind = unsafe {
        PointerValue::new(offloom_ir_pointer_behind(
            pointer.as_value_ref(),
            at.as_value_ref(),
            &raw mut distance,
        ))
    };
    (behind, distance)
}

/// The local variables of a function: what it has on the stack and, on a GPU, what it shares with the threads
/// of its team (`__kmpc_alloc_shared`).
pub fn local_variables(function: FunctionValue<'_>) -> Vec<PointerValue<'_>> {
    function
        .get_basic_block_iter()
        .flat_map(inkwell::basic_block::BasicBlock::get_instructions)
        // SAFETY: a live instruction.
        .filter(|instruction| unsafe { offloom_ir_is_local_variable(instruction.as_value_ref()) })
        // SAFETY: what makes a local variable gives a pointer to it.
        .map(|instruction| unsafe { PointerValue::new(instruction.as_value_ref()) })
        .collect()
}

/// Whether `first` has always been executed when `second`, of the same function, is.
pub fn dominates(first: InstructionValue<'_>, second: InstructionValue<'_>) -> bool {
    // SAFETY: two live instructions.
    unsafe { offloom_ir_dominates(first.as_value_ref(), second.as_value_ref()) }
}

/// What a load finds `offset` bytes into memory that holds the constant; `None` where that is not defined.
pub fn loaded_constant<'ctx>(
    load: InstructionValue<'ctx>,
    constant: BasicValueEnum<'ctx>,
    offset: u64,
) -> Option<BasicValueEnum<'ctx>> {
    if load.get_opcode() != InstructionOpcode::Load {
        return None;
    }
    // SAFETY: a live load and a live constant of the same context.
    let value = unsafe { offloom_ir_loaded_constant(load.as_value_ref(), constant.as_value_ref(), offset) };
    // SAFETY: null or a live constant of the load's type.
    (!value.is_null()).then(|| unsafe { BasicValueEnum::new(value) })
}

/// Replaces a load by a value of its type and deletes it: handles to it are dead afterwards. Whether it was
/// one.
pub fn replace_load(load: InstructionValue<'_>, value: BasicValueEnum<'_>) -> bool {
    // SAFETY: two live values.
    let same_type =
        unsafe { llvm::LLVMTypeOf(load.as_value_ref()) == llvm::LLVMTypeOf(value.as_value_ref()) };
    if load.get_opcode() != InstructionOpcode::Load || !same_type {
        return false;
    }
    // SAFETY: a live load and a value of its type.
    unsafe { offloom_ir_replace_load(load.as_value_ref(), value.as_value_ref()) }
    true
}

/// Says of a pointer that is loaded that it is aligned to `alignment` bytes, a power of two. Whether that
/// says more than before.
pub fn raise_loaded_alignment(load: InstructionValue<'_>, alignment: u64) -> bool {
    // SAFETY: a live load; only loads of pointers are changed.
    unsafe {
        let is_pointer = load.get_opcode() == InstructionOpcode::Load
            && !llvm::LLVMIsALoadInst(load.as_value_ref()).is_null()
            && load.get_type().is_pointer_type();
        is_pointer && offloom_ir_raise_loaded_alignment(load.as_value_ref(), alignment)
    }
}
