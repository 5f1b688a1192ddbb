//! Whose a symbol's definition is, what is known of it, and how it is cut loose from the object it is in.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::llvm_sys::LLVMLinkage;
use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::types::{AnyTypeEnum, BasicTypeEnum};

use super::uses::is_callee;
use super::{Symbol, SymbolKind};

unsafe extern "C" {
    fn offloom_ir_make_constant_if_only_loaded(variable: LLVMValueRef) -> bool;
    fn offloom_ir_declare_for_alias(alias: LLVMValueRef) -> LLVMValueRef;
    fn offloom_ir_is_accessed_by_name(global: LLVMValueRef) -> bool;
    fn offloom_ir_is_interposable(global: LLVMValueRef) -> bool;
    fn offloom_ir_has_address_taken_block(function: LLVMValueRef) -> bool;
    fn offloom_ir_detach_global(global: LLVMValueRef, drop_definition: bool, linkage: LLVMLinkage);
    fn offloom_ir_clone_function(function: LLVMValueRef) -> LLVMValueRef;
}

impl Symbol<'_> {
    /// Whether it is an LLVM intrinsic.
    pub fn is_intrinsic(self) -> bool {
        // SAFETY: only asked of live functions.
        self.kind() == SymbolKind::Function && unsafe { llvm::LLVMGetIntrinsicID(self.as_value_ref()) != 0 }
    }

    /// Whether it is a variable that is never written.
    pub fn is_constant(self) -> bool {
        // SAFETY: only asked of live variables.
        self.kind() == SymbolKind::Variable && unsafe { llvm::LLVMIsGlobalConstant(self.as_value_ref()) != 0 }
    }

    /// Whether it is a variable of which each thread has its own.
    pub fn is_thread_local(self) -> bool {
        // SAFETY: only asked of live variables.
        self.kind() == SymbolKind::Variable && unsafe { llvm::LLVMIsThreadLocal(self.as_value_ref()) != 0 }
    }

    /// Whether another definition may replace this one when objects are linked or loaded.
    pub fn is_interposable(self) -> bool {
        // SAFETY: the value is a live global.
        unsafe { offloom_ir_is_interposable(self.as_value_ref()) }
    }

    /// Whether it is a function with a block whose address is taken (computed `goto`).
    pub fn has_address_taken_block(self) -> bool {
        // SAFETY: only asked of live functions.
        self.kind() == SymbolKind::Function
            && unsafe { offloom_ir_has_address_taken_block(self.as_value_ref()) }
    }

    /// Whether it is a function whose definition here is the one that calls run.
    pub fn is_own_definition(self) -> bool {
        self.kind() == SymbolKind::Function && !self.is_declaration() && !self.is_interposable()
    }

    /// Whether it is an object of an empty class, defined elsewhere if at all (`std::piecewise_construct`):
    /// nothing is ever read of it. One of a class with one byte has the same type, and is accessed.
    pub fn is_foreign_empty_object(self) -> bool {
        if self.kind() != SymbolKind::Variable || !self.is_declaration() {
            return false;
        }
        let AnyTypeEnum::StructType(class) = self.value.get_value_type() else {
            return false;
        };
        let fields = class.get_field_types();
        matches!(fields.as_slice(), [BasicTypeEnum::IntType(byte)] if byte.get_bit_width() == 8)
            // SAFETY: the value is a live global.
            && !unsafe { offloom_ir_is_accessed_by_name(self.as_value_ref()) }
    }

    /// Whether it is a function that neither returns nor unwinds (`noreturn`, `nounwind`), and does nothing
    /// before that in this module's code: one of a library that ends the program, `longjmp`, or what Clang
    /// calls where an exception must not leave.
    pub fn never_returns(self) -> bool {
        const TERMINATE: &str = "__clang_call_terminate";
        let is_of_library = self.is_declaration() || self.name() == TERMINATE;
        is_of_library
            && self.as_function().is_some_and(|function| {
                ["noreturn", "nounwind"].into_iter().all(|name| {
                    let kind = Attribute::get_named_enum_kind_id(name);
                    function
                        .get_enum_attribute(AttributeLoc::Function, kind)
                        .is_some()
                })
            })
    }

    /// Makes a variable of the module's own a constant if all that the module does with it is to load from it
    /// or copy out of it. Whether it did. What is loaded as `volatile` or atomically, is in a section, or is
    /// given away in any way stays a variable.
    pub fn become_constant_if_only_loaded(self) -> bool {
        // SAFETY: the value is a live global.
        unsafe { offloom_ir_make_constant_if_only_loaded(self.as_value_ref()) }
    }

    /// Makes it a declaration of something that is defined elsewhere: default visibility, no comdat, not
    /// `dso_local`. What was an alias is another symbol from then on, the one that is returned.
    pub fn become_declaration(self) -> Self {
        if self.kind() == SymbolKind::Alias {
            // SAFETY: the value is a live alias. Whoever holds it is told of the one in its place.
            return Self::of_global(unsafe { offloom_ir_declare_for_alias(self.as_value_ref()) });
        }
        self.detach(true, LLVMLinkage::LLVMExternalLinkage);
        self
    }

    /// As [`become_declaration`](Self::become_declaration), but its definition stays for the optimiser to
    /// look into (`available_externally`).
    pub fn become_available_externally(self) {
        self.detach(false, LLVMLinkage::LLVMAvailableExternallyLinkage);
    }

    /// Makes a definition visible to other objects, without comdat and with default visibility.
    pub fn become_external(self) {
        self.detach(false, LLVMLinkage::LLVMExternalLinkage);
    }

    /// Makes a definition the module's own.
    pub fn become_internal(self) {
        self.detach(false, LLVMLinkage::LLVMInternalLinkage);
    }

    fn detach(self, drop_definition: bool, linkage: LLVMLinkage) {
        // SAFETY: the value is a live global.
        unsafe { offloom_ir_detach_global(self.as_value_ref(), drop_definition, linkage) }
    }

    /// Clones a function definition; the clone is the module's own, under a name that begins with this one's.
    pub fn clone_function(self) -> Self {
        // SAFETY: the value is a live function definition.
        Self::of_global(unsafe { offloom_ir_clone_function(self.as_value_ref()) })
    }

    /// Gives a function definition an internal twin that all direct calls go to. What is left is its address.
    pub fn split_direct_calls(self) -> Self {
        // SAFETY: the value is a live function definition; a callee operand takes any function of the same
        // type. The next use is read before the current one moves to the clone's list.
        unsafe {
            let clone = self.clone_function().as_value_ref();
            let mut use_ = llvm::LLVMGetFirstUse(self.as_value_ref());
            while !use_.is_null() {
                let next = llvm::LLVMGetNextUse(use_);
                let user = llvm::LLVMGetUser(use_);
                if is_callee(use_, user) {
                    llvm::LLVMSetOperand(user, llvm::LLVMGetNumOperands(user) as u32 - 1, clone);
                }
                use_ = next;
            }
            Self::of_global(clone)
        }
    }
}
