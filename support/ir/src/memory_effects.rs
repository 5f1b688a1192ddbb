//! What memory code may write, and what a pointer may lead into.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::{AsValueRef, FunctionValue, InstructionOpcode, InstructionValue, PointerValue};

unsafe extern "C" {
    fn offloom_ir_written_pointers(
        instruction: LLVMValueRef,
        only_operands: bool,
        pointers: *mut LLVMValueRef,
    ) -> i64;
    fn offloom_ir_underlying_objects(
        pointer: LLVMValueRef,
        objects: *mut LLVMValueRef,
        capacity: usize,
    ) -> usize;
    fn offloom_ir_types_differ(write: LLVMValueRef, load: LLVMValueRef) -> bool;
    fn offloom_ir_is_always_executed(instruction: LLVMValueRef) -> bool;
    fn offloom_ir_may_be_address(load: LLVMValueRef) -> bool;
    fn offloom_ir_is_local_variable(instruction: LLVMValueRef) -> bool;
}

/// The pointers through which an instruction writes; what a function that it calls does is not counted, if
/// `only_operands` says that it does nothing else. `None`: it may write elsewhere, or orders memory accesses
/// between threads, or cannot be understood.
pub fn written_pointers<'ctx>(
    instruction: InstructionValue<'ctx>,
    only_operands: bool,
) -> Option<Vec<PointerValue<'ctx>>> {
    let mut pointers = vec![std::ptr::null_mut(); instruction.get_num_operands() as usize];
    // SAFETY: a live instruction, and room for as many values as it has operands.
    let count = unsafe {
        offloom_ir_written_pointers(instruction.as_value_ref(), only_operands, pointers.as_mut_ptr())
    };
    pointers.truncate(usize::try_from(count).ok()?);
    // SAFETY: live values of pointer type.
    Some(
        pointers
            .into_iter()
            .map(|pointer| unsafe { PointerValue::new(pointer) })
            .collect(),
    )
}

/// What a pointer may lead into, as far as its own function knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object<'ctx> {
    /// A local variable.
    Local,
    /// What a pointer parameter leads to.
    Parameter(PointerValue<'ctx>),
    /// Anything else.
    Unknown,
}

/// Everything that the pointer may lead into.
pub fn underlying_objects(pointer: PointerValue<'_>) -> Vec<Object<'_>> {
    /// A pointer with more is as good as unknown.
    const MOST: usize = 16;
    let mut objects = [std::ptr::null_mut(); MOST];
    // SAFETY: a live pointer, and the array with its length.
    let count = unsafe { offloom_ir_underlying_objects(pointer.as_value_ref(), objects.as_mut_ptr(), MOST) };
    let Some(objects) = objects.get(..count) else {
        return vec![Object::Unknown];
    };
    // SAFETY: live values, which are asked what they are first.
    let what = |&object: &LLVMValueRef| unsafe {
        if !llvm::LLVMIsAArgument(object).is_null() {
            Object::Parameter(PointerValue::new(object))
        } else if !llvm::LLVMIsAInstruction(object).is_null() && offloom_ir_is_local_variable(object) {
            Object::Local
        } else {
            Object::Unknown
        }
    };
    objects.iter().map(what).collect()
}

/// Whether the types of a store and a load, as the source language has them (TBAA), say that they are to
/// different memory.
pub fn types_differ(write: InstructionValue<'_>, load: InstructionValue<'_>) -> bool {
    // SAFETY: two live instructions.
    unsafe { offloom_ir_types_differ(write.as_value_ref(), load.as_value_ref()) }
}

/// Whether the instruction is executed whenever its function is called.
pub fn is_always_executed(instruction: InstructionValue<'_>) -> bool {
    // SAFETY: a live instruction.
    unsafe { offloom_ir_is_always_executed(instruction.as_value_ref()) }
}

/// Whether what is loaded is, or may hold, an address.
pub fn may_be_address(load: InstructionValue<'_>) -> bool {
    // SAFETY: a live instruction, only looked at if it is a load.
    load.get_opcode() != InstructionOpcode::Load || unsafe { offloom_ir_may_be_address(load.as_value_ref()) }
}

/// Bytes from a pointer parameter on that can be read whenever the function is called, as it declares
/// (`dereferenceable`).
pub fn dereferenceable_bytes(function: FunctionValue<'_>, index: u32) -> u64 {
    let kind = Attribute::get_named_enum_kind_id("dereferenceable");
    function
        .get_enum_attribute(AttributeLoc::Param(index), kind)
        .map_or(0, Attribute::get_enum_value)
}

/// Whether what a pointer parameter leads to is, while the function runs, changed through this parameter
/// alone (`noalias`).
pub fn is_noalias(function: FunctionValue<'_>, index: u32) -> bool {
    let kind = Attribute::get_named_enum_kind_id("noalias");
    function
        .get_enum_attribute(AttributeLoc::Param(index), kind)
        .is_some()
}
