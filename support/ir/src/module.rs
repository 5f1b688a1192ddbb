//! Whole-module operations that the C API lacks.

use crate::metadata::{Operand, nodes};
use inkwell::basic_block::BasicBlock;
use inkwell::llvm_sys::core::{
    LLVMAliasGetAliasee, LLVMDeleteGlobal, LLVMGetCalledValue, LLVMGetFirstUse, LLVMGetInlineAsmAsmString,
    LLVMGetModuleInlineAsm, LLVMIsACallBrInst, LLVMIsACallInst, LLVMIsAInlineAsm, LLVMIsAInvokeInst,
    LLVMReplaceAllUsesWith, LLVMSetModuleInlineAsm2, LLVMTypeIsSized,
};
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::llvm_sys::target::{LLVMGetModuleDataLayout, LLVMPointerSize, LLVMStoreSizeOfType};
use inkwell::module::Module;
use inkwell::types::{AsTypeRef, BasicTypeEnum};
use inkwell::values::{AsValueRef, FunctionValue, InstructionValue};
use std::ffi::{c_char, c_int};

use crate::symbol::{Symbol, SymbolKind, symbols};
use crate::used::{UsedList, set_used, used};

unsafe extern "C" {
    fn offloom_ir_erase_named_metadata(module: LLVMModuleRef, name: *const c_char, length: usize);
    fn offloom_ir_add_maximum_flag(module: LLVMModuleRef, key: *const c_char, length: usize, value: u32);
    fn offloom_ir_remove_flag(module: LLVMModuleRef, key: *const c_char, length: usize);
    fn offloom_ir_copy_module(module: LLVMModuleRef) -> LLVMModuleRef;
    fn offloom_ir_append_constructor(module: LLVMModuleRef, function: LLVMValueRef, priority: c_int);
    fn offloom_ir_append_destructor(module: LLVMModuleRef, function: LLVMValueRef, priority: c_int);
}

/// A copy of a valid module in its context, which shares nothing with it. LLVM's own (`Module::clone`, of
/// `llvm/lib/Transforms/Utils/CloneModule.cpp`) is wrong or crashes for some where the address of a label is
/// taken.
pub fn copy<'ctx>(module: &Module<'ctx>) -> Module<'ctx> {
    // SAFETY: the module handle is live; the copy is owned by nobody else, and lives in the same context.
    unsafe { Module::new(offloom_ir_copy_module(module.as_mut_ptr())) }
}

/// The value of the module flag `key`, if it is an integer.
pub fn integer_flag(module: &Module<'_>, key: &str) -> Option<u32> {
    nodes(module, "llvm.module.flags")
        .into_iter()
        .find_map(|node| match &node[..] {
            [_, Operand::String(name), Operand::Integer(value)] if name == key => Some(*value),
            _ => None,
        })
}

/// Adds the module flag `key`, which the module must not have. When modules are linked the highest value
/// wins.
pub fn add_maximum_flag(module: &Module<'_>, key: &str, value: u32) {
    // SAFETY: the module handle is live, and the key is passed with its length.
    unsafe {
        offloom_ir_add_maximum_flag(module.as_mut_ptr(), key.as_ptr().cast(), key.len(), value);
    }
}

/// Removes the module flag `key` from the module if it is there.
pub fn remove_flag(module: &Module<'_>, key: &str) {
    // SAFETY: the module handle is live, and the key is passed with its length.
    unsafe { offloom_ir_remove_flag(module.as_mut_ptr(), key.as_ptr().cast(), key.len()) }
}

/// Removes the named metadata `name` from the module if it is there.
pub fn erase_named_metadata(module: &Module<'_>, name: &str) {
    // SAFETY: the module handle is live, and the name is passed with its length.
    unsafe { offloom_ir_erase_named_metadata(module.as_mut_ptr(), name.as_ptr().cast(), name.len()) }
}

/// Bytes that a pointer of address space 0 takes, by the module's data layout.
pub fn pointer_size(module: &Module<'_>) -> u32 {
    // SAFETY: the data layout belongs to the module, which is live.
    let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
    // SAFETY: a live data layout.
    unsafe { LLVMPointerSize(layout) }
}

/// Bytes that storing a value of the type writes, by the module's data layout. 0 for a type without a size.
pub fn store_size<'ctx>(module: &Module<'ctx>, value_type: BasicTypeEnum<'ctx>) -> u64 {
    // SAFETY: a live type.
    if unsafe { LLVMTypeIsSized(value_type.as_type_ref()) } == 0 {
        return 0;
    }
    // SAFETY: the data layout belongs to the module, which is live.
    let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
    // SAFETY: a live data layout and a type with a size.
    unsafe { LLVMStoreSizeOfType(layout, value_type.as_type_ref()) }
}

/// The texts of inline assembly in a function, which may name symbols.
pub fn assembly_in(function: FunctionValue<'_>) -> Vec<String> {
    let instructions = function
        .get_basic_block_iter()
        .flat_map(BasicBlock::get_instructions);
    instructions.filter_map(assembly_of).collect()
}

fn assembly_of(instruction: InstructionValue<'_>) -> Option<String> {
    let instruction = instruction.as_value_ref();
    let mut length = 0;
    // SAFETY: a live instruction, which is asked for a callee if it has one, and that for its text if it has
    // one.
    let text = unsafe {
        let kinds = [LLVMIsACallInst, LLVMIsAInvokeInst, LLVMIsACallBrInst];
        if kinds.iter().all(|is_of_kind| is_of_kind(instruction).is_null()) {
            return None;
        }
        let callee = LLVMGetCalledValue(instruction);
        if LLVMIsAInlineAsm(callee).is_null() {
            return None;
        }
        LLVMGetInlineAsmAsmString(callee, &raw mut length)
    };
    // SAFETY: LLVM returns the bytes with their number, and the value keeps them.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// The assembly text of the whole module, which may name symbols; empty if there is none.
pub fn inline_assembly(module: &Module<'_>) -> String {
    let mut length = 0;
    // SAFETY: the module is live, and there is room for a length.
    let text = unsafe { LLVMGetModuleInlineAsm(module.as_mut_ptr(), &raw mut length) };
    if text.is_null() || length == 0 {
        return String::new();
    }
    // SAFETY: LLVM returns the bytes with their number, and the module keeps them.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Replaces every alias by what it stands for; `is_whole`: also where another definition might take its place
/// (a weak one), since there is none. The aliases stay, without uses but in `@llvm.used` and
/// `@llvm.compiler.used`: assembly may name them.
pub fn resolve_aliases(module: &Module<'_>, is_whole: bool) {
    let listed = UsedList::BOTH.map(|list| (list, used(module, list)));
    for alias in symbols(module) {
        if alias.kind() == SymbolKind::Alias && (is_whole || !alias.is_interposable()) {
            // SAFETY: an alias and its target have the same type, a pointer.
            unsafe { LLVMReplaceAllUsesWith(alias.as_value_ref(), LLVMAliasGetAliasee(alias.as_value_ref())) }
        }
    }
    let is_alias = |symbol: &Symbol<'_>| symbol.kind() == SymbolKind::Alias;
    for (list, symbols) in listed {
        if symbols.iter().any(is_alias) {
            set_used(module, list, &symbols);
        }
    }
}

/// Deletes the variable called `name` if it is there and nothing uses it, as is the case for `llvm.used` and
/// `llvm.global_ctors`. Handles to it are dead afterwards.
pub fn delete_unused_variable(module: &Module<'_>, name: &str) {
    if let Some(variable) = module.get_global(name) {
        let value = variable.as_value_ref();
        // SAFETY: the variable is live and has no uses, so nothing in the module refers to it.
        unsafe {
            if LLVMGetFirstUse(value).is_null() {
                LLVMDeleteGlobal(value);
            }
        }
    }
}

/// Takes the assembly text that stands outside of functions out of the module.
pub fn delete_module_assembly(module: &Module<'_>) {
    // SAFETY: the module is live; the text is empty.
    unsafe { LLVMSetModuleInlineAsm2(module.as_mut_ptr(), c"".as_ptr(), 0) }
}

/// Adds a function of type `void ()` to the constructors that run when the module's object is loaded, lowest
/// priority first.
pub fn append_constructor(module: &Module<'_>, function: FunctionValue<'_>, priority: u16) {
    // SAFETY: both are live, and the function is the module's own.
    unsafe {
        offloom_ir_append_constructor(
            module.as_mut_ptr(),
            function.as_value_ref(),
            c_int::from(priority),
        );
    }
}

/// Adds a function of type `void ()` to the destructors that run when the module's object is unloaded, lowest
/// priority last.
pub fn append_destructor(module: &Module<'_>, function: FunctionValue<'_>, priority: u16) {
    // SAFETY: both are live, and the function is the module's own.
    unsafe {
        offloom_ir_append_destructor(
            module.as_mut_ptr(),
            function.as_value_ref(),
            c_int::from(priority),
        );
    }
}
