//! Symbols: functions, variables, aliases and ifuncs of a module, seen alike.
//!
//! inkwell has one type for functions and one for variables; it has no aliases, no string attributes of
//! variables and no comdats that may be absent.
//!
//! | module | says or does |
//! | --- | --- |
//! | [`lists`] | which symbols a module has |
//! | [`uses`] | what a symbol refers to, and how its address is used |
//! | [`definition`] | whose its definition is; cuts it loose from its object |

mod definition;
mod lists;
mod uses;

use inkwell::llvm_sys::LLVMComdat;
use inkwell::llvm_sys::comdat::{LLVMComdatSelectionKind, LLVMSetComdatSelectionKind};
use inkwell::llvm_sys::core::{
    LLVMGetNumOperands, LLVMGetOperand, LLVMGetTypeKind, LLVMGetValueKind, LLVMGetValueName2,
    LLVMGlobalGetValueType, LLVMSetValueName2,
};
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout};
use inkwell::llvm_sys::{LLVMTypeKind, LLVMValueKind};
use inkwell::module::{Linkage, Module};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{AsValueRef, BasicValueEnum, FunctionValue, GlobalValue, PointerValue};
use inkwell::{DLLStorageClass, GlobalVisibility};
use std::ffi::c_char;
use std::fmt;
use std::ptr::NonNull;

pub use lists::{find, find_variable, functions, symbols, variables};
pub use uses::AddressUse;

unsafe extern "C" {
    fn offloom_ir_string_attribute(
        symbol: LLVMValueRef,
        key: *const c_char,
        key_length: usize,
        value_length: *mut usize,
    ) -> *const c_char;
    fn offloom_ir_set_string_attribute(
        symbol: LLVMValueRef,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
    );
    fn offloom_ir_remove_string_attribute(symbol: LLVMValueRef, key: *const c_char, key_length: usize);
    fn offloom_ir_comdat(symbol: LLVMValueRef) -> *mut LLVMComdat;
    fn offloom_ir_leave_comdat(symbol: LLVMValueRef);
    fn offloom_ir_erase_if_unused(symbol: LLVMValueRef) -> bool;
    fn offloom_ir_symbol_behind(value: LLVMValueRef) -> LLVMValueRef;
}

/// What kind of symbol it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A global variable or constant.
    Variable,
    /// Another name for a symbol.
    Alias,
    /// A function chosen at load time.
    IFunc,
}

/// A function, variable, alias or ifunc of a module. Equal when it is the same symbol of the same module.
///
/// Like inkwell's values it must not be used after the symbol has been erased.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol<'ctx> {
    /// inkwell's type for global variables; its calls that ask for a variable in particular are made only for
    /// one.
    value: GlobalValue<'ctx>,
    kind: SymbolKind,
}

/// A group of symbols of which the linker keeps all or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Comdat(NonNull<LLVMComdat>);

impl Comdat {
    /// Lets the linker keep the group beside others of the same name (`nodeduplicate`).
    pub fn keep_beside_others(self) {
        // SAFETY: a comdat lives as long as its module, and is got from a live symbol.
        unsafe {
            LLVMSetComdatSelectionKind(
                self.0.as_ptr(),
                LLVMComdatSelectionKind::LLVMNoDuplicatesComdatSelectionKind,
            );
        }
    }
}

impl fmt::Debug for Symbol<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "@{}", self.name())
    }
}

impl<'ctx> From<FunctionValue<'ctx>> for Symbol<'ctx> {
    fn from(function: FunctionValue<'ctx>) -> Self {
        Self {
            value: function.as_global_value(),
            kind: SymbolKind::Function,
        }
    }
}

impl<'ctx> Symbol<'ctx> {
    /// The symbol that `value` is, if it is one.
    pub(crate) fn from_value(value: LLVMValueRef) -> Option<Self> {
        if value.is_null() {
            return None;
        }
        // SAFETY: the callers pass null or a live value.
        let kind = match unsafe { LLVMGetValueKind(value) } {
            LLVMValueKind::LLVMFunctionValueKind => SymbolKind::Function,
            LLVMValueKind::LLVMGlobalVariableValueKind => SymbolKind::Variable,
            LLVMValueKind::LLVMGlobalAliasValueKind => SymbolKind::Alias,
            LLVMValueKind::LLVMGlobalIFuncValueKind => SymbolKind::IFunc,
            _ => return None,
        };
        // SAFETY: each of the kinds above is a global value.
        let value = unsafe { GlobalValue::new(value) };
        Some(Self { value, kind })
    }

    /// The symbol that a value is, if it is one: without an offset, in its own address space.
    pub fn of_value(value: BasicValueEnum<'ctx>) -> Option<Self> {
        Self::from_value(value.as_value_ref())
    }

    /// The symbol that a global value is, which the callers know `value` to be.
    fn of_global(value: LLVMValueRef) -> Self {
        // SAFETY: the callers pass a live global value.
        Self::from(unsafe { GlobalValue::new(value) })
    }

    /// The symbol that a constant points to, also at an offset or in another address space: `None` if there
    /// is none.
    pub fn behind(constant: &BasicValueEnum<'ctx>) -> Option<Self> {
        // SAFETY: a live value.
        Self::from_value(unsafe { offloom_ir_symbol_behind(constant.as_value_ref()) })
    }

    /// What kind of symbol it is.
    pub fn kind(self) -> SymbolKind {
        self.kind
    }

    /// The symbol's name, empty for an unnamed one. Bytes that are not UTF-8 are replaced.
    pub fn name(self) -> String {
        let mut length = 0;
        // SAFETY: a live value; LLVM gives the name with its length, and it is copied at once.
        let bytes = unsafe {
            let start = LLVMGetValueName2(self.as_value_ref(), &raw mut length);
            std::slice::from_raw_parts(start.cast::<u8>(), length)
        };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Renames the symbol; LLVM makes the name unique if it is taken.
    pub fn set_name(self, name: &str) {
        // SAFETY: a live value, and a name with its length.
        unsafe { LLVMSetValueName2(self.as_value_ref(), name.as_ptr().cast(), name.len()) }
    }

    /// Whether the name is UTF-8: otherwise [`Self::name`] is another one.
    pub fn is_named_by_text(self) -> bool {
        self.value.get_name().to_str().is_ok()
    }

    /// The variable, if it is one.
    pub fn as_variable(self) -> Option<GlobalValue<'ctx>> {
        (self.kind == SymbolKind::Variable).then_some(self.value)
    }

    /// The function, if it is one.
    pub fn as_function(self) -> Option<FunctionValue<'ctx>> {
        if self.kind != SymbolKind::Function {
            return None;
        }
        // SAFETY: a live function.
        unsafe { FunctionValue::new(self.value.as_value_ref()) }
    }

    /// The symbol as inkwell's global value, which any kind of symbol can be.
    pub fn as_global_value(self) -> GlobalValue<'ctx> {
        self.value
    }

    /// The symbol's address, in its address space.
    fn as_pointer(self) -> PointerValue<'ctx> {
        self.value.as_pointer_value()
    }

    /// The symbol's address as a pointer of address space 0.
    pub fn as_generic_pointer(self) -> PointerValue<'ctx> {
        let pointer = self.as_pointer();
        let generic = pointer
            .get_type()
            .get_context()
            .ptr_type(inkwell::AddressSpace::default());
        if pointer.get_type() == generic {
            return pointer;
        }
        pointer.const_address_space_cast(generic)
    }

    /// What a variable starts with; `None` for another kind of symbol and for a variable defined elsewhere.
    pub fn initializer(self) -> Option<BasicValueEnum<'ctx>> {
        self.as_variable()?.get_initializer()
    }

    /// The symbols whose addresses are fields of a variable's initial value, in order; empty for another kind
    /// of symbol.
    pub fn initializer_symbols(self) -> Vec<Self> {
        let Some(value) = self.initializer() else {
            return Vec::new();
        };
        // SAFETY: a live constant.
        let count = unsafe { LLVMGetNumOperands(value.as_value_ref()) };
        let operands = (0..u32::try_from(count).unwrap_or_default()).filter_map(|index| {
            // SAFETY: the index is below the number of operands.
            let operand = unsafe { LLVMGetOperand(value.as_value_ref(), index) };
            // SAFETY: a live value.
            Self::from_value(unsafe { offloom_ir_symbol_behind(operand) })
        });
        operands.collect()
    }

    /// Whether the symbol is defined elsewhere.
    pub fn is_declaration(self) -> bool {
        self.value.is_declaration()
    }

    /// Whether this module emits the symbol: it is neither a declaration nor a copy that only serves
    /// optimisation.
    pub fn is_definition(self) -> bool {
        !self.is_declaration() && self.linkage() != Linkage::AvailableExternally
    }

    /// The symbol's linkage.
    pub fn linkage(self) -> Linkage {
        self.value.get_linkage()
    }

    /// Sets the linkage. A local linkage takes any other visibility than the default away.
    pub fn set_linkage(self, linkage: Linkage) {
        self.value.set_linkage(linkage);
    }

    /// Has a definition that could be dropped where its module has no use of it, as those of C++'s inline
    /// functions and variables can, stay: linkage `weak` in the place of `linkonce`. Whether it is such a
    /// one.
    pub fn pin(self) -> bool {
        let linkage = match self.linkage() {
            Linkage::LinkOnceAny => Linkage::WeakAny,
            Linkage::LinkOnceODR | Linkage::LinkOnceODRAutoHide => Linkage::WeakODR,
            _ => return false,
        };
        self.set_linkage(linkage);
        true
    }

    /// Whether other modules cannot see the symbol: linkage `internal` or `private`.
    pub fn is_local(self) -> bool {
        matches!(self.linkage(), Linkage::Internal | Linkage::Private)
    }

    /// The symbol's visibility.
    pub fn visibility(self) -> GlobalVisibility {
        self.value.get_visibility()
    }

    /// Sets the visibility. Only [`GlobalVisibility::Default`] goes with a local linkage. What is hidden is
    /// no longer exported from a DLL, either.
    pub fn set_visibility(self, visibility: GlobalVisibility) {
        if visibility == GlobalVisibility::Hidden {
            self.value.set_dll_storage_class(DLLStorageClass::Default);
        }
        self.value.set_visibility(visibility);
    }

    /// The section the symbol was put in; `None`: where the compiler chooses.
    pub fn section(self) -> Option<String> {
        if matches!(self.kind, SymbolKind::Alias | SymbolKind::IFunc) {
            return None;
        }
        let section = self.value.get_section()?;
        Some(section.to_string_lossy().into_owned())
    }

    /// Puts the symbol in a section, or where the compiler chooses.
    pub fn set_section(self, section: Option<&str>) {
        self.value.set_section(section);
    }

    /// The type of a variable's value; `None` for another kind of symbol, and for a target's own types, which
    /// inkwell has no words for.
    pub fn variable_type(self) -> Option<BasicTypeEnum<'ctx>> {
        let variable = self.as_variable()?;
        // SAFETY: a live variable.
        let kind = unsafe { LLVMGetTypeKind(LLVMGlobalGetValueType(variable.as_value_ref())) };
        if kind == LLVMTypeKind::LLVMTargetExtTypeKind {
            return None;
        }
        BasicTypeEnum::try_from(variable.get_value_type()).ok()
    }

    /// Whether it names code: a function, or another name of one.
    pub fn names_code(self) -> bool {
        // SAFETY: a live symbol.
        let kind = unsafe { LLVMGetTypeKind(LLVMGlobalGetValueType(self.value.as_value_ref())) };
        kind == LLVMTypeKind::LLVMFunctionTypeKind
    }

    /// Bytes that an object of the symbol's type takes, with the module's data layout. 0 for a type without a
    /// size.
    pub fn value_size(self, module: &Module<'ctx>) -> u64 {
        if self.kind != SymbolKind::Variable {
            return 0;
        }
        // SAFETY: a live symbol.
        let value_type = unsafe { LLVMGlobalGetValueType(self.value.as_value_ref()) };
        // SAFETY: the data layout belongs to the module, which is live.
        let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
        // SAFETY: the type of a variable has a size: the IR verifier and the parsers refuse others.
        unsafe { LLVMABISizeOfType(layout, value_type) }
    }

    /// The value of a string attribute; empty for one without a value. Aliases and ifuncs have none.
    pub fn string_attribute(self, key: &str) -> Option<String> {
        let mut length = 0;
        // SAFETY: a live symbol, a key with its length, and room for a length.
        let value = unsafe {
            offloom_ir_string_attribute(
                self.value.as_value_ref(),
                key.as_ptr().cast(),
                key.len(),
                &raw mut length,
            )
        };
        if value.is_null() {
            return None;
        }
        // SAFETY: the shim returns the bytes of an attribute, which its context keeps.
        let bytes = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), length) };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Sets a string attribute. Does nothing on aliases and ifuncs, which have none.
    pub fn set_string_attribute(self, key: &str, value: &str) {
        // SAFETY: a live symbol; both texts come with their lengths and are copied.
        unsafe {
            offloom_ir_set_string_attribute(
                self.value.as_value_ref(),
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
            );
        }
    }

    /// Removes a string attribute if it is there.
    pub fn remove_string_attribute(self, key: &str) {
        // SAFETY: a live symbol, and a key with its length.
        unsafe {
            offloom_ir_remove_string_attribute(self.value.as_value_ref(), key.as_ptr().cast(), key.len());
        }
    }

    /// The comdat the symbol is in; that of an alias is its target's.
    pub fn comdat(self) -> Option<Comdat> {
        // SAFETY: a live symbol.
        NonNull::new(unsafe { offloom_ir_comdat(self.value.as_value_ref()) }).map(Comdat)
    }

    /// Takes the symbol out of its comdat. Aliases and ifuncs have none of their own.
    pub fn leave_comdat(self) {
        // SAFETY: a live symbol.
        unsafe { offloom_ir_leave_comdat(self.value.as_value_ref()) }
    }

    /// Removes the symbol from its module if nothing uses it; otherwise it stays and the answer is `false`.
    ///
    /// Every other [`Symbol`] and inkwell value for it is dead afterwards and must not be used. Metadata that
    /// names it loses it.
    pub fn erase_if_unused(self) -> bool {
        // SAFETY: a live symbol.
        unsafe { offloom_ir_erase_if_unused(self.value.as_value_ref()) }
    }

    pub(crate) fn as_value_ref(self) -> LLVMValueRef {
        self.value.as_value_ref()
    }
}

impl<'ctx> From<GlobalValue<'ctx>> for Symbol<'ctx> {
    fn from(value: GlobalValue<'ctx>) -> Self {
        // inkwell uses its type for functions and aliases as well.
        Self::from_value(value.as_value_ref()).unwrap_or(Self {
            value,
            kind: SymbolKind::Variable,
        })
    }
}
