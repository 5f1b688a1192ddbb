//! Functions, variables and aliases of a module as one kind of thing: what they refer to, how their address
//! is used, and how they are cut loose from the object they are defined in.

use std::collections::HashSet;
use std::ffi::c_int;
use std::fmt;
use std::marker::PhantomData;

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::llvm_sys::LLVMLinkage;
use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMUseRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::types::{AnyTypeEnum, BasicTypeEnum};
use inkwell::values::{AsValueRef, BasicValueEnum, FunctionValue, GlobalValue};

use crate::symbol::{Symbol, SymbolKind};
use crate::used::{UsedList, set_used, used};

unsafe extern "C" {
    fn offloom_ir_make_constant_if_only_loaded(variable: LLVMValueRef) -> bool;
    fn offloom_ir_is_interposable(global: LLVMValueRef) -> bool;
    fn offloom_ir_has_address_taken_block(function: LLVMValueRef) -> bool;
    fn offloom_ir_detach_global(global: LLVMValueRef, drop_definition: bool, linkage: LLVMLinkage);
    fn offloom_ir_clone_function(function: LLVMValueRef) -> LLVMValueRef;
    fn offloom_ir_append_constructor(module: LLVMModuleRef, function: LLVMValueRef, priority: c_int);
    fn offloom_ir_append_destructor(module: LLVMModuleRef, function: LLVMValueRef, priority: c_int);
}

/// A function, variable, alias or indirect function of a module.
///
/// Like inkwell's values it is a handle: it must not be used once the value was deleted, by a pass for
/// instance.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Global<'ctx> {
    value: LLVMValueRef,
    context: PhantomData<&'ctx ()>,
}

/// What a [`Global`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobalKind {
    /// A function.
    Function,
    /// A variable, constant or not.
    Variable,
    /// Another name for a global or a part of it.
    Alias,
    /// A function chosen by a resolver when the object is loaded (`ifunc`).
    IndirectFunction,
}

/// One use of a global's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressUse<'ctx> {
    /// Called or invoked directly.
    Callee,
    /// Handed to a function that is called by name.
    Argument {
        /// The function called.
        callee: Global<'ctx>,
    },
    /// Part of the initialiser of a variable, or what an alias stands for.
    Initializer {
        /// The variable or alias.
        of: Global<'ctx>,
    },
    /// The personality of a function, or its prefix data.
    FunctionData,
    /// Compared with another address.
    Comparison,
    /// Anything else: stored, returned, ...
    Other,
}

impl fmt::Debug for Global<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "@{}", self.name())
    }
}

/// Every global of the module: functions, variables, aliases, indirect functions. Intrinsics are among the
/// functions.
pub fn globals<'ctx>(module: &Module<'ctx>) -> Vec<Global<'ctx>> {
    let module = module.as_mut_ptr();
    let mut found = Vec::new();
    let mut walk = |first: LLVMValueRef, next: unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef| {
        let mut value = first;
        while !value.is_null() {
            found.push(Global::new(value));
            // SAFETY: `value` is a live global of the kind that `next` walks over.
            value = unsafe { next(value) };
        }
    };
    // SAFETY: the module is live; each list is walked by its own function.
    unsafe {
        walk(llvm::LLVMGetFirstFunction(module), llvm::LLVMGetNextFunction);
        walk(llvm::LLVMGetFirstGlobal(module), llvm::LLVMGetNextGlobal);
        walk(
            llvm::LLVMGetFirstGlobalAlias(module),
            llvm::LLVMGetNextGlobalAlias,
        );
        walk(
            llvm::LLVMGetFirstGlobalIFunc(module),
            llvm::LLVMGetNextGlobalIFunc,
        );
    }
    found
}

/// The function or variable called `name`.
pub fn find<'ctx>(module: &Module<'ctx>, name: &str) -> Option<Global<'ctx>> {
    let function = module.get_function(name).map(Global::from);
    function.or_else(|| module.get_global(name).map(Global::from))
}

/// Replaces every alias by what it stands for. The aliases stay, without uses but in `@llvm.used` and
/// `@llvm.compiler.used`: assembly may name them.
pub fn resolve_aliases(module: &Module<'_>) {
    let listed = UsedList::BOTH.map(|list| (list, used(module, list)));
    for alias in globals(module) {
        if alias.kind() == GlobalKind::Alias {
            // SAFETY: an alias and its target have the same type, a pointer.
            unsafe { llvm::LLVMReplaceAllUsesWith(alias.value, llvm::LLVMAliasGetAliasee(alias.value)) }
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
            if llvm::LLVMGetFirstUse(value).is_null() {
                llvm::LLVMDeleteGlobal(value);
            }
        }
    }
}

/// Takes the assembly text that stands outside of functions out of the module.
pub fn delete_module_assembly(module: &Module<'_>) {
    // SAFETY: the module is live; the text is empty.
    unsafe { llvm::LLVMSetModuleInlineAsm2(module.as_mut_ptr(), c"".as_ptr(), 0) }
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

impl<'ctx> Global<'ctx> {
    fn new(value: LLVMValueRef) -> Self {
        Self {
            value,
            context: PhantomData,
        }
    }

    /// The global that a value is the address of.
    pub fn from_value(value: BasicValueEnum<'ctx>) -> Option<Self> {
        // SAFETY: a live value, which is asked what it is.
        let is_global = unsafe { !llvm::LLVMIsAGlobalValue(value.as_value_ref()).is_null() };
        is_global.then(|| Self::new(value.as_value_ref()))
    }

    /// The global's name; empty when it has none.
    pub fn name(self) -> String {
        let mut length = 0;
        // SAFETY: the value is live; LLVM gives the name with its length, and it is copied at once.
        let bytes = unsafe {
            let start = llvm::LLVMGetValueName2(self.value, &raw mut length);
            std::slice::from_raw_parts(start.cast::<u8>(), length)
        };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Renames the global; LLVM makes the name unique if it is taken.
    pub fn set_name(self, name: &str) {
        // SAFETY: the value is live, and the name is passed with its length.
        unsafe { llvm::LLVMSetValueName2(self.value, name.as_ptr().cast(), name.len()) }
    }

    /// What the global is.
    pub fn kind(self) -> GlobalKind {
        // SAFETY: the value is live.
        unsafe {
            if !llvm::LLVMIsAFunction(self.value).is_null() {
                GlobalKind::Function
            } else if !llvm::LLVMIsAGlobalVariable(self.value).is_null() {
                GlobalKind::Variable
            } else if !llvm::LLVMIsAGlobalAlias(self.value).is_null() {
                GlobalKind::Alias
            } else {
                GlobalKind::IndirectFunction
            }
        }
    }

    /// The global as inkwell's function, if it is one.
    pub fn as_function(self) -> Option<FunctionValue<'ctx>> {
        if self.kind() != GlobalKind::Function {
            return None;
        }
        // SAFETY: the value is a live function.
        unsafe { FunctionValue::new(self.value) }
    }

    /// The global as inkwell's global value, which any kind of global can be.
    pub fn as_global_value(self) -> GlobalValue<'ctx> {
        // SAFETY: the value is a live global value.
        unsafe { GlobalValue::new(self.value) }
    }

    /// Whether the module has no definition of it.
    pub fn is_declaration(self) -> bool {
        // SAFETY: the value is a live global.
        unsafe { llvm::LLVMIsDeclaration(self.value) != 0 }
    }

    /// Whether it is an LLVM intrinsic.
    pub fn is_intrinsic(self) -> bool {
        // SAFETY: only asked of live functions.
        self.kind() == GlobalKind::Function && unsafe { llvm::LLVMGetIntrinsicID(self.value) != 0 }
    }

    /// Whether it is a variable that is never written.
    pub fn is_constant(self) -> bool {
        // SAFETY: only asked of live variables.
        self.kind() == GlobalKind::Variable && unsafe { llvm::LLVMIsGlobalConstant(self.value) != 0 }
    }

    /// Whether it is a variable of which each thread has its own.
    pub fn is_thread_local(self) -> bool {
        // SAFETY: only asked of live variables.
        self.kind() == GlobalKind::Variable && unsafe { llvm::LLVMIsThreadLocal(self.value) != 0 }
    }

    /// Whether another definition may replace this one when objects are linked or loaded.
    pub fn is_interposable(self) -> bool {
        // SAFETY: the value is a live global.
        unsafe { offloom_ir_is_interposable(self.value) }
    }

    /// Whether it is a function with a block whose address is taken (computed `goto`).
    pub fn has_address_taken_block(self) -> bool {
        // SAFETY: only asked of live functions.
        self.kind() == GlobalKind::Function && unsafe { offloom_ir_has_address_taken_block(self.value) }
    }

    /// The globals that its definition refers to, each once, in no useful order: from the function's code and
    /// data, from the variable's initialiser, or what an alias stands for.
    pub fn references(self) -> Vec<Self> {
        let mut walk = ReferenceWalk::default();
        // SAFETY: the value is live, and only values reached from it are visited.
        unsafe {
            walk.operands(self.value);
            if self.kind() == GlobalKind::Function {
                let mut block = llvm::LLVMGetFirstBasicBlock(self.value);
                while !block.is_null() {
                    let mut instruction = llvm::LLVMGetFirstInstruction(block);
                    while !instruction.is_null() {
                        walk.operands(instruction);
                        instruction = llvm::LLVMGetNextInstruction(instruction);
                    }
                    block = llvm::LLVMGetNextBasicBlock(block);
                }
            }
        }
        walk.found.into_iter().map(Self::new).collect()
    }

    /// Every use of the global's address, through constant expressions and aggregates.
    pub fn address_uses(self) -> Vec<AddressUse<'ctx>> {
        let mut uses = Vec::new();
        let mut constants = vec![self.value];
        let mut seen = HashSet::new();
        while let Some(constant) = constants.pop() {
            // SAFETY: `constant` is a live value, and its list of uses does not change while it is walked.
            unsafe {
                let mut use_ = llvm::LLVMGetFirstUse(constant);
                while !use_.is_null() {
                    let user = llvm::LLVMGetUser(use_);
                    if !llvm::LLVMIsAInstruction(user).is_null() {
                        uses.push(use_by_instruction(use_, user));
                    } else if !llvm::LLVMIsAFunction(user).is_null() {
                        uses.push(AddressUse::FunctionData);
                    } else if !llvm::LLVMIsAGlobalValue(user).is_null() {
                        uses.push(AddressUse::Initializer { of: Self::new(user) });
                    } else if !llvm::LLVMIsABlockAddress(user).is_null() {
                        uses.push(AddressUse::Other);
                    } else if seen.insert(user) {
                        constants.push(user);
                    }
                    use_ = llvm::LLVMGetNextUse(use_);
                }
            }
        }
        uses
    }

    /// Whether it is a function whose definition here is the one that calls run.
    pub fn is_own_definition(self) -> bool {
        self.kind() == GlobalKind::Function && !self.is_declaration() && !self.is_interposable()
    }

    /// Whether it is an object of an empty class, defined elsewhere if at all (`std::piecewise_construct`):
    /// nothing is ever read of it.
    pub fn is_foreign_empty_object(self) -> bool {
        if self.kind() != GlobalKind::Variable || !self.is_declaration() {
            return false;
        }
        let AnyTypeEnum::StructType(class) = self.as_global_value().get_value_type() else {
            return false;
        };
        let fields = class.get_field_types();
        matches!(fields.as_slice(), [BasicTypeEnum::IntType(byte)] if byte.get_bit_width() == 8)
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
        unsafe { offloom_ir_make_constant_if_only_loaded(self.value) }
    }

    /// Makes it a declaration of something that is defined elsewhere: default visibility, no comdat, not
    /// `dso_local`.
    pub fn become_declaration(self) {
        self.detach(true, LLVMLinkage::LLVMExternalLinkage);
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
        unsafe { offloom_ir_detach_global(self.value, drop_definition, linkage) }
    }

    /// Clones a function definition; the clone is the module's own, under a name that begins with this one's.
    pub fn clone_function(self) -> Self {
        // SAFETY: the value is a live function definition.
        Self::new(unsafe { offloom_ir_clone_function(self.value) })
    }

    /// Gives a function definition an internal twin that all direct calls go to. What is left is its address.
    pub fn split_direct_calls(self) -> Self {
        // SAFETY: the value is a live function definition; a callee operand takes any function of the same
        // type. The next use is read before the current one moves to the clone's list.
        unsafe {
            let clone = self.clone_function().value;
            let mut use_ = llvm::LLVMGetFirstUse(self.value);
            while !use_.is_null() {
                let next = llvm::LLVMGetNextUse(use_);
                let user = llvm::LLVMGetUser(use_);
                if is_callee(use_, user) {
                    llvm::LLVMSetOperand(user, llvm::LLVMGetNumOperands(user) as u32 - 1, clone);
                }
                use_ = next;
            }
            Self::new(clone)
        }
    }
}

impl<'ctx> From<FunctionValue<'ctx>> for Global<'ctx> {
    fn from(function: FunctionValue<'ctx>) -> Self {
        Self::new(function.as_value_ref())
    }
}

impl<'ctx> From<GlobalValue<'ctx>> for Global<'ctx> {
    fn from(global: GlobalValue<'ctx>) -> Self {
        Self::new(global.as_value_ref())
    }
}

/// Whether the use is the callee operand, the last one, of a call.
///
/// # Safety
/// `user` is the live user of the live use `use_`.
unsafe fn is_callee(use_: LLVMUseRef, user: LLVMValueRef) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        let call = !llvm::LLVMIsACallInst(user).is_null()
            || !llvm::LLVMIsAInvokeInst(user).is_null()
            || !llvm::LLVMIsACallBrInst(user).is_null();
        call && llvm::LLVMGetOperandUse(user, llvm::LLVMGetNumOperands(user) as u32 - 1) == use_
    }
}

/// # Safety
/// `user` is a live instruction and the user of the live use `use_`.
unsafe fn use_by_instruction<'ctx>(use_: LLVMUseRef, user: LLVMValueRef) -> AddressUse<'ctx> {
    // SAFETY: as the caller promises; the callee is only asked of calls and invokes.
    unsafe {
        if is_callee(use_, user) {
            return AddressUse::Callee;
        }
        if !llvm::LLVMIsAICmpInst(user).is_null() {
            return AddressUse::Comparison;
        }
        if llvm::LLVMIsACallInst(user).is_null() && llvm::LLVMIsAInvokeInst(user).is_null() {
            return AddressUse::Other;
        }
        let callee = llvm::LLVMGetCalledValue(user);
        if llvm::LLVMIsAFunction(callee).is_null() {
            return AddressUse::Other;
        }
        AddressUse::Argument {
            callee: Global::new(callee),
        }
    }
}

/// Collects the globals that values refer to, through constants.
#[derive(Default)]
struct ReferenceWalk {
    seen: HashSet<LLVMValueRef>,
    found: Vec<LLVMValueRef>,
}

impl ReferenceWalk {
    /// # Safety
    /// `user` is a live user: an instruction, a global or a constant.
    unsafe fn operands(&mut self, user: LLVMValueRef) {
        let mut users = vec![user];
        while let Some(user) = users.pop() {
            // SAFETY: operands of a live user are live; an operand that is absent comes back as null.
            unsafe {
                for index in 0..llvm::LLVMGetNumOperands(user) {
                    let operand = llvm::LLVMGetOperand(user, index as u32);
                    if operand.is_null()
                        || llvm::LLVMIsAConstant(operand).is_null()
                        || !self.seen.insert(operand)
                    {
                        continue;
                    }
                    if !llvm::LLVMIsAGlobalValue(operand).is_null() {
                        self.found.push(operand);
                    } else if llvm::LLVMIsABlockAddress(operand).is_null() {
                        users.push(operand);
                    } else {
                        self.found.push(llvm::LLVMGetBlockAddressFunction(operand));
                    }
                }
            }
        }
    }
}
