//! What symbols refer to, and how their addresses are used.

use std::collections::HashSet;

use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::{LLVMUseRef, LLVMValueRef};

use super::{Symbol, SymbolKind};

/// One use of a symbol's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressUse<'ctx> {
    /// Called or invoked directly.
    Callee,
    /// Handed to a function that is called by name.
    Argument {
        /// The function called.
        callee: Symbol<'ctx>,
    },
    /// Part of the initialiser of a variable, or what an alias stands for.
    Initializer {
        /// The variable or alias.
        of: Symbol<'ctx>,
    },
    /// The personality of a function, or its prefix data.
    FunctionData,
    /// Compared with another address.
    Comparison,
    /// Anything else: stored, returned, ...
    Other,
}

impl<'ctx> Symbol<'ctx> {
    /// The globals that its definition refers to, each once, in no useful order: from the function's code and
    /// data, from the variable's initialiser, or what an alias stands for.
    pub fn references(self) -> Vec<Self> {
        let mut walk = ReferenceWalk::default();
        // SAFETY: the value is live, and only values reached from it are visited.
        unsafe {
            walk.operands(self.as_value_ref());
            if self.kind() == SymbolKind::Function {
                let mut block = llvm::LLVMGetFirstBasicBlock(self.as_value_ref());
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
        walk.found.into_iter().map(Self::of_global).collect()
    }

    /// Every use of the global's address, through constant expressions and aggregates.
    pub fn address_uses(self) -> Vec<AddressUse<'ctx>> {
        let mut uses = Vec::new();
        let mut constants = vec![self.as_value_ref()];
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
                        uses.push(AddressUse::Initializer {
                            of: Self::of_global(user),
                        });
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
}

/// Whether the use is the callee operand, the last one, of a call.
///
/// # Safety
/// `user` is the live user of the live use `use_`.
pub(super) unsafe fn is_callee(use_: LLVMUseRef, user: LLVMValueRef) -> bool {
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
            callee: Symbol::of_global(callee),
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
