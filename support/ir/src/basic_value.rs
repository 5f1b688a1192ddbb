//! Values of the types that instructions compute with.

use inkwell::llvm_sys::LLVMTypeKind as Kind;
use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::BasicValueEnum;

/// The value, if inkwell has one of its type. Of labels, metadata and what only some instructions of x86 take
/// (`x86_amx`, `x86_mmx`) it has none, nor of nothing.
///
/// # Safety
/// `value` is null or live.
pub(crate) unsafe fn basic_value<'ctx>(value: LLVMValueRef) -> Option<BasicValueEnum<'ctx>> {
    if value.is_null() {
        return None;
    }
    // SAFETY: as the caller promises; inkwell has a value for each of these kinds of type.
    unsafe {
        match llvm::LLVMGetTypeKind(llvm::LLVMTypeOf(value)) {
            Kind::LLVMIntegerTypeKind
            | Kind::LLVMPointerTypeKind
            | Kind::LLVMHalfTypeKind
            | Kind::LLVMBFloatTypeKind
            | Kind::LLVMFloatTypeKind
            | Kind::LLVMDoubleTypeKind
            | Kind::LLVMX86_FP80TypeKind
            | Kind::LLVMFP128TypeKind
            | Kind::LLVMStructTypeKind
            | Kind::LLVMArrayTypeKind
            | Kind::LLVMVectorTypeKind => Some(BasicValueEnum::new(value)),
            _ => None,
        }
    }
}
