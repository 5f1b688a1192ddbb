//! What a pass implements, and what it is handed when it runs.

use inkwell::module::Module;
use inkwell::values::FunctionValue;
use std::marker::PhantomData;

/// Whether the analyses that LLVM has at hand are still right after a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreservedAnalyses {
    /// The pass changed nothing.
    All,
    /// The pass changed the IR: LLVM runs analyses again when it needs them.
    None,
}

/// A pass over a module.
pub trait LlvmModulePass {
    /// Runs the pass. Return [`PreservedAnalyses::None`] when the module was changed.
    ///
    /// The module belongs to LLVM: it must not be moved out of the reference.
    fn run_pass(&self, module: &mut Module<'_>, manager: &ModuleAnalysisManager) -> PreservedAnalyses;
}

/// A pass over a function.
pub trait LlvmFunctionPass {
    /// Runs the pass. Return [`PreservedAnalyses::None`] when the function was changed.
    ///
    /// Only the function itself may be changed, not the rest of its module.
    fn run_pass(
        &self,
        function: &mut FunctionValue<'_>,
        manager: &FunctionAnalysisManager,
    ) -> PreservedAnalyses;
}

/// LLVM's analyses of modules. Nothing can be asked of it yet: it keeps the passes' signature that of the
/// published crate.
#[derive(Debug)]
pub struct ModuleAnalysisManager {
    /// Only this crate makes one.
    _private: PhantomData<*const ()>,
}

/// LLVM's analyses of functions. Nothing can be asked of it yet: it keeps the passes' signature that of the
/// published crate.
#[derive(Debug)]
pub struct FunctionAnalysisManager {
    /// Only this crate makes one.
    _private: PhantomData<*const ()>,
}

impl ModuleAnalysisManager {
    pub(crate) fn new() -> Self {
        Self {
            _private: PhantomData,
        }
    }
}

impl FunctionAnalysisManager {
    pub(crate) fn new() -> Self {
        Self {
            _private: PhantomData,
        }
    }
}
