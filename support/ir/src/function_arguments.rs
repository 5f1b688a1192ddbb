//! What is known of a function's arguments, put into the function: constants, alignments.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMTypeRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::types::{AsTypeRef, BasicTypeEnum};
use inkwell::values::{AsValueRef, BasicValueEnum, FunctionValue, InstructionValue, PointerValue};

unsafe extern "C" {
    fn offloom_ir_constant_as(
        module: LLVMModuleRef,
        constant: LLVMValueRef,
        value_type: LLVMTypeRef,
    ) -> LLVMValueRef;
    fn offloom_ir_is_number(value: LLVMValueRef) -> bool;
    fn offloom_ir_known_alignment(pointer: LLVMValueRef, at: LLVMValueRef) -> u64;
    fn offloom_ir_fold_constants(module: LLVMModuleRef);
    fn offloom_ir_split_copies(module: LLVMModuleRef, longest: u64);
}

/// Promotes local variables to values and folds what is constant, function by function. Changes no call of a
/// library function that is not constant, and no control flow but conditions.
pub fn fold_constants(module: &Module<'_>) {
    // SAFETY: the module is live; handles to instructions are dead afterwards, and none outlives a borrow of
    // the module here.
    unsafe { offloom_ir_fold_constants(module.as_mut_ptr()) }
}

/// Copies objects of at most `longest` bytes field by field, where the fields are known (`tbaa.struct`), so
/// that each can be followed. Bytes between fields are not copied.
pub fn split_copies(module: &Module<'_>, longest: u64) {
    // SAFETY: the module is live; handles to instructions are dead afterwards, and none outlives a borrow of
    // the module here.
    unsafe { offloom_ir_split_copies(module.as_mut_ptr(), longest) }
}

/// The value, if it is made of numbers alone: a constant integer or floating-point value, a null pointer, or
/// a pointer made from an integer.
pub fn as_number<'ctx>(value: BasicValueEnum<'ctx>) -> Option<BasicValueEnum<'ctx>> {
    // SAFETY: a live value.
    unsafe { offloom_ir_is_number(value.as_value_ref()) }.then_some(value)
}

/// The constant's bits as a value of another type of the same size; `None` if the sizes differ or one of the
/// types is an aggregate.
pub fn constant_as<'ctx>(
    module: &Module<'ctx>,
    constant: BasicValueEnum<'ctx>,
    value_type: BasicTypeEnum<'ctx>,
) -> Option<BasicValueEnum<'ctx>> {
    // SAFETY: a live constant and a type of the same context.
    let value = unsafe {
        offloom_ir_constant_as(
            module.as_mut_ptr(),
            constant.as_value_ref(),
            value_type.as_type_ref(),
        )
    };
    // SAFETY: null or a live constant of `value_type`.
    (!value.is_null()).then(|| unsafe { BasicValueEnum::new(value) })
}

/// Replaces the uses of a parameter by a constant of its type. Whether there were any.
pub fn replace_argument<'ctx>(
    function: FunctionValue<'ctx>,
    index: u32,
    constant: BasicValueEnum<'ctx>,
) -> bool {
    let Some(parameter) = function.get_nth_param(index) else {
        return false;
    };
    if parameter.get_type() != constant.get_type() {
        return false;
    }
    // SAFETY: both are live and of the same type, and a constant may be used everywhere.
    unsafe {
        let used = !llvm::LLVMGetFirstUse(parameter.as_value_ref()).is_null();
        llvm::LLVMReplaceAllUsesWith(parameter.as_value_ref(), constant.as_value_ref());
        used
    }
}

/// Whether the parameter is the callee's copy of what the operand points to, rather than the operand. What
/// `sret` and `byref` point to is the caller's.
pub fn is_copied(function: FunctionValue<'_>, index: u32) -> bool {
    ["byval", "inalloca", "preallocated"].into_iter().any(|name| {
        let kind = Attribute::get_named_enum_kind_id(name);
        function
            .get_enum_attribute(AttributeLoc::Param(index), kind)
            .is_some()
    })
}

/// Bytes that a pointer is known to be aligned to when `at`, which it is available to, is reached.
pub fn known_alignment(pointer: PointerValue<'_>, at: InstructionValue<'_>) -> u64 {
    // SAFETY: a live pointer, and a live instruction of the same function.
    unsafe { offloom_ir_known_alignment(pointer.as_value_ref(), at.as_value_ref()) }
}

/// The alignment a pointer parameter is declared with; 1 where there is none.
pub fn declared_alignment(function: FunctionValue<'_>, index: u32) -> u64 {
    let kind = Attribute::get_named_enum_kind_id("align");
    function
        .get_enum_attribute(AttributeLoc::Param(index), kind)
        .map_or(1, Attribute::get_enum_value)
}

/// Declares that a pointer parameter is aligned to `alignment` bytes, a power of two. Whether it was declared
/// with less before.
pub fn raise_alignment(module: &Module<'_>, function: FunctionValue<'_>, index: u32, alignment: u64) -> bool {
    if declared_alignment(function, index) >= alignment {
        return false;
    }
    let kind = Attribute::get_named_enum_kind_id("align");
    function.remove_enum_attribute(AttributeLoc::Param(index), kind);
    let attribute = module.get_context().create_enum_attribute(kind, alignment);
    function.add_attribute(AttributeLoc::Param(index), attribute);
    true
}
