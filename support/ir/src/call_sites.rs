//! From where a function gets its arguments: direct calls, and the calls of the OpenMP runtime that hand a
//! function over to be called with what else they are given.
//!
//! | runtime function | outlined function | its arguments, after two pointers to thread numbers |
//! | --- | --- | --- |
//! | `__kmpc_fork_call`, `__kmpc_fork_teams` | operand 2 | the operands from 3 on |
//! | `__kmpc_parallel_51` (LLVM 19), `__kmpc_parallel_60` (LLVM 22) | operand 5 | an array of words, operand 7 |
//!
//! The second kind takes a wrapper too, operand 6, which workers call in generic mode: it calls the outlined
//! function with the words of the same array. Source: `openmp/runtime/src/kmp_csupport.cpp` and the GPU
//! runtime's `Parallelism.cpp`.

use std::collections::HashMap;

use inkwell::llvm_sys::core as llvm;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::module::{Linkage, Module};
use inkwell::values::{AsValueRef, BasicValueEnum, FunctionValue, InstructionValue, PointerValue};

use crate::basic_value::basic_value;

unsafe extern "C" {
    fn offloom_ir_argument_array_store(array: LLVMValueRef, offset: u64, call: LLVMValueRef) -> LLVMValueRef;
}

/// Parameters of an outlined function before those that its region captured: pointers to the global and the
/// bound thread number.
pub const THREAD_NUMBERS: u32 = 2;

/// One way into a function.
#[derive(Debug, Clone)]
pub struct CallSite<'ctx> {
    /// The call: of the function itself, or of the runtime function that gets it.
    pub call: InstructionValue<'ctx>,
    /// For each parameter the value it gets, as far as that is known. A word of an argument array may have
    /// another type than the parameter, of the same size.
    pub arguments: Vec<Option<Argument<'ctx>>>,
}

/// A value that a function gets.
#[derive(Debug, Clone, Copy)]
pub struct Argument<'ctx> {
    /// The value, in the calling function.
    pub value: BasicValueEnum<'ctx>,
    /// What hands it over: the call, or the store that puts it into the call's argument array.
    pub handed_over_by: InstructionValue<'ctx>,
}

/// The ways into one function.
#[derive(Debug, Clone, Default)]
pub struct CallSites<'ctx> {
    /// Those that are known.
    pub known: Vec<CallSite<'ctx>>,
    /// Whether there are no others: the function is the module's own, and nothing else is done with its
    /// address.
    pub complete: bool,
}

/// The parameters that get a pointer, by the instruction that hands it over.
pub type Receivers<'ctx> = HashMap<(InstructionValue<'ctx>, PointerValue<'ctx>), Vec<PointerValue<'ctx>>>;

/// The pointer parameters of all functions of a module, of which these are the call sites
/// ([`all_call_sites`]), by what they get.
pub fn receivers<'ctx>(sites: &HashMap<FunctionValue<'ctx>, CallSites<'ctx>>) -> Receivers<'ctx> {
    let mut receivers = Receivers::new();
    for (function, sites) in sites {
        for site in &sites.known {
            for (parameter, argument) in function.get_param_iter().zip(&site.arguments) {
                if let (BasicValueEnum::PointerValue(parameter), Some(argument)) = (parameter, argument)
                    && let BasicValueEnum::PointerValue(pointer) = argument.value
                {
                    let key = (argument.handed_over_by, pointer);
                    receivers.entry(key).or_default().push(parameter);
                }
            }
        }
    }
    receivers
}

/// A runtime function that calls the function it gets.
struct Fork {
    name: &'static str,
    outlined: u32,
    arguments: ForkArguments,
}

enum ForkArguments {
    /// The operands from this one on.
    From(u32),
    /// The words of an array; the wrapper is an operand too.
    Array { array: u32, wrapper: u32 },
}

const FORKS: [Fork; 4] = [
    Fork {
        name: "__kmpc_fork_call",
        outlined: 2,
        arguments: ForkArguments::From(3),
    },
    Fork {
        name: "__kmpc_fork_teams",
        outlined: 2,
        arguments: ForkArguments::From(3),
    },
    Fork {
        name: "__kmpc_parallel_51",
        outlined: 5,
        arguments: ForkArguments::Array { array: 7, wrapper: 6 },
    },
    Fork {
        name: "__kmpc_parallel_60",
        outlined: 5,
        arguments: ForkArguments::Array { array: 7, wrapper: 6 },
    },
];

/// The ways into every function that the module defines.
pub fn all_call_sites<'ctx>(module: &Module<'ctx>) -> HashMap<FunctionValue<'ctx>, CallSites<'ctx>> {
    module
        .get_functions()
        .filter(|function| function.count_basic_blocks() > 0)
        .map(|function| (function, call_sites(function)))
        .collect()
}

/// The ways into a function.
pub fn call_sites<'ctx>(function: FunctionValue<'ctx>) -> CallSites<'ctx> {
    let mut sites = CallSites {
        known: Vec::new(),
        complete: matches!(function.get_linkage(), Linkage::Internal | Linkage::Private),
    };
    for (user, operand) in uses(function) {
        let site = match CallKind::of(user, function, operand) {
            CallKind::Direct => Some(direct(user, function)),
            CallKind::Fork(fork) => Some(through(fork, user, function)),
            CallKind::InWrapper => continue,
            CallKind::Other => None,
        };
        match site {
            Some(site) => sites.known.push(site),
            None => sites.complete = false,
        }
    }
    sites
}

/// What a use of a function's address is.
enum CallKind {
    Direct,
    Fork(&'static Fork),
    /// A direct call in the wrapper that belongs to a fork of the same function: its arguments are that
    /// fork's.
    InWrapper,
    Other,
}

impl CallKind {
    fn of(user: LLVMValueRef, function: FunctionValue<'_>, operand: u32) -> Self {
        // SAFETY: a live user; only calls are asked for a callee.
        unsafe {
            if llvm::LLVMIsACallInst(user).is_null() && llvm::LLVMIsAInvokeInst(user).is_null() {
                return Self::Other;
            }
            let callee = llvm::LLVMGetCalledValue(user);
            let is_callee_use = operand + 1 == llvm::LLVMGetNumOperands(user).cast_unsigned();
            if is_callee_use {
                if llvm::LLVMGetCalledFunctionType(user) != llvm::LLVMGlobalGetValueType(callee) {
                    return Self::Other;
                }
                let caller = llvm::LLVMGetBasicBlockParent(llvm::LLVMGetInstructionParent(user));
                return if function.get_type().is_var_arg() {
                    Self::Other
                } else if is_wrapper_of(caller, function) {
                    Self::InWrapper
                } else {
                    Self::Direct
                };
            }
            fork_named(callee)
                .filter(|fork| fork.outlined == operand)
                .map_or(Self::Other, Self::Fork)
        }
    }
}

/// The runtime function, if it is one of those that call what they get.
fn fork_named(callee: LLVMValueRef) -> Option<&'static Fork> {
    let mut length = 0;
    // SAFETY: a live value; the name comes with its length and is only looked at here.
    let name = unsafe {
        let start = llvm::LLVMGetValueName2(callee, &raw mut length);
        std::slice::from_raw_parts(start.cast::<u8>(), length)
    };
    FORKS.iter().find(|fork| fork.name.as_bytes() == name)
}

/// Whether all that is done with `caller` is to hand it over as the wrapper of `function`.
fn is_wrapper_of(caller: LLVMValueRef, function: FunctionValue<'_>) -> bool {
    // SAFETY: `caller` is the live function that an instruction is in.
    let Some(caller) = (unsafe { FunctionValue::new(caller) }) else {
        return false;
    };
    let uses = uses(caller);
    let is_local = matches!(caller.get_linkage(), Linkage::Internal | Linkage::Private);
    is_local
        && !uses.is_empty()
        && uses.into_iter().all(|(user, operand)| {
            // SAFETY: a live user; only calls are asked for a callee and for the operands that such a fork
            // has.
            unsafe {
                if llvm::LLVMIsACallInst(user).is_null() {
                    return false;
                }
                fork_named(llvm::LLVMGetCalledValue(user)).is_some_and(|fork| match fork.arguments {
                    ForkArguments::Array { wrapper, .. } => {
                        wrapper == operand
                            && llvm::LLVMGetOperand(user, fork.outlined) == function.as_value_ref()
                    }
                    ForkArguments::From(_) => false,
                })
            }
        })
}

/// The users of a function's address, each with the number of the operand.
fn uses(function: FunctionValue<'_>) -> Vec<(LLVMValueRef, u32)> {
    let mut found = Vec::new();
    // SAFETY: the function is live, and its list of uses does not change while it is walked.
    unsafe {
        let mut next = llvm::LLVMGetFirstUse(function.as_value_ref());
        while !next.is_null() {
            let user = llvm::LLVMGetUser(next);
            let operands = llvm::LLVMGetNumOperands(user).cast_unsigned();
            let operand = (0..operands).find(|&index| llvm::LLVMGetOperandUse(user, index) == next);
            found.push((user, operand.unwrap_or(u32::MAX)));
            next = llvm::LLVMGetNextUse(next);
        }
    }
    found
}

fn direct<'ctx>(call: LLVMValueRef, function: FunctionValue<'ctx>) -> CallSite<'ctx> {
    let arguments = (0..function.count_params()).map(|index| operand(call, index));
    CallSite {
        arguments: arguments.collect(),
        call: instruction(call),
    }
}

fn through<'ctx>(fork: &Fork, call: LLVMValueRef, function: FunctionValue<'ctx>) -> CallSite<'ctx> {
    // SAFETY: a live call.
    let given = unsafe { llvm::LLVMGetNumArgOperands(call) };
    let arguments = (0..function.count_params()).map(|index| {
        let captured = index.checked_sub(THREAD_NUMBERS)?;
        match fork.arguments {
            ForkArguments::From(first) => {
                let index = first.checked_add(captured)?;
                (index < given).then(|| operand(call, index)).flatten()
            }
            ForkArguments::Array { array, .. } => word(call, array, captured),
        }
    });
    CallSite {
        arguments: arguments.collect(),
        call: instruction(call),
    }
}

fn operand<'ctx>(call: LLVMValueRef, index: u32) -> Option<Argument<'ctx>> {
    // SAFETY: a live call, of which the caller knows that it has this operand.
    let value = unsafe { basic_value(llvm::LLVMGetOperand(call, index)) }?;
    let handed_over_by = instruction(call);
    Some(Argument {
        value,
        handed_over_by,
    })
}

/// A word of the argument array that is operand `array` of the call.
fn word<'ctx>(call: LLVMValueRef, array: u32, index: u32) -> Option<Argument<'ctx>> {
    // SAFETY: the call has this operand, and the shim is given the call itself. The result is null or a live
    // store.
    unsafe {
        let array = llvm::LLVMGetOperand(call, array);
        let store = offloom_ir_argument_array_store(array, u64::from(index) * 8, call);
        if store.is_null() {
            return None;
        }
        Some(Argument {
            value: basic_value(llvm::LLVMGetOperand(store, 0))?,
            handed_over_by: instruction(store),
        })
    }
}

fn instruction<'ctx>(call: LLVMValueRef) -> InstructionValue<'ctx> {
    // SAFETY: a live call instruction.
    unsafe { InstructionValue::new(call) }
}
