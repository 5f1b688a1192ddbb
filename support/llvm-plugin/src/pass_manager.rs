//! Pass managers: the lists of passes that a plugin adds to.

use crate::diagnostics::{Severity, diagnose};
use crate::{
    FunctionAnalysisManager, LlvmFunctionPass, LlvmModulePass, ModuleAnalysisManager, PreservedAnalyses,
    panic_guard,
};
use inkwell::llvm_sys::core::LLVMGetGlobalParent;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::values::FunctionValue;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

unsafe extern "C" {
    fn llvm_plugin_add_module_pass(
        manager: *mut c_void,
        pass: *mut c_void,
        delete: unsafe extern "C" fn(*mut c_void),
        run: unsafe extern "C" fn(*mut c_void, LLVMModuleRef, *mut c_void) -> bool,
    );
    fn llvm_plugin_add_function_pass(
        manager: *mut c_void,
        pass: *mut c_void,
        delete: unsafe extern "C" fn(*mut c_void),
        run: unsafe extern "C" fn(*mut c_void, LLVMValueRef, *mut c_void) -> bool,
    );
}

/// A list of passes over modules.
#[derive(Debug)]
pub struct ModulePassManager<'a> {
    manager: *mut c_void,
    lent: PhantomData<&'a mut c_void>,
}

/// A list of passes over functions.
#[derive(Debug)]
pub struct FunctionPassManager<'a> {
    manager: *mut c_void,
    lent: PhantomData<&'a mut c_void>,
}

impl ModulePassManager<'_> {
    /// # Safety
    /// `manager` must be a live `llvm::ModulePassManager` that nobody else uses while the value exists.
    pub(crate) unsafe fn from_raw(manager: *mut c_void) -> Self {
        Self {
            manager,
            lent: PhantomData,
        }
    }

    /// Appends a pass.
    pub fn add_pass<T: LlvmModulePass + 'static>(&mut self, pass: T) {
        let pass = Box::into_raw(Box::new(pass)).cast();
        // SAFETY: the manager is live; the pass goes over with the functions that run and free exactly this
        // type.
        unsafe { llvm_plugin_add_module_pass(self.manager, pass, delete::<T>, run_module_pass::<T>) }
    }
}

impl FunctionPassManager<'_> {
    /// # Safety
    /// `manager` must be a live `llvm::FunctionPassManager` that nobody else uses while the value exists.
    pub(crate) unsafe fn from_raw(manager: *mut c_void) -> Self {
        Self {
            manager,
            lent: PhantomData,
        }
    }

    /// Appends a pass.
    pub fn add_pass<T: LlvmFunctionPass + 'static>(&mut self, pass: T) {
        let pass = Box::into_raw(Box::new(pass)).cast();
        // SAFETY: the manager is live; the pass goes over with the functions that run and free exactly this
        // type.
        unsafe { llvm_plugin_add_function_pass(self.manager, pass, delete::<T>, run_function_pass::<T>) }
    }
}

/// Frees what [`Box::into_raw`] gave away.
///
/// # Safety
/// `object` must come from `Box::<T>::into_raw` and not be used again.
pub(crate) unsafe extern "C" fn delete<T>(object: *mut c_void) {
    // SAFETY: as our caller promises.
    let object = unsafe { Box::from_raw(object.cast::<T>()) };
    // A panic of a destructor has nowhere to go but must not unwind into LLVM.
    drop(panic_guard::catch(move || drop(object)));
}

unsafe extern "C" fn run_module_pass<T: LlvmModulePass>(
    pass: *mut c_void,
    module: LLVMModuleRef,
    _manager: *mut c_void,
) -> bool {
    // SAFETY: LLVM hands over the module that its pass manager works on. It stays LLVM's, so it is never
    // dropped here.
    let mut module = ManuallyDrop::new(unsafe { Module::new(module) });
    // SAFETY: the pass that `add_pass` registered together with this function; LLVM runs it from one thread
    // at a time.
    let pass = unsafe { &*pass.cast::<T>() };
    let result = panic_guard::catch(|| pass.run_pass(&mut module, &ModuleAnalysisManager::new()));
    result.unwrap_or_else(|panic| {
        diagnose(&module, Severity::Error, &panic_report::<T>(&panic));
        PreservedAnalyses::None
    }) == PreservedAnalyses::All
}

unsafe extern "C" fn run_function_pass<T: LlvmFunctionPass>(
    pass: *mut c_void,
    function: LLVMValueRef,
    _manager: *mut c_void,
) -> bool {
    // SAFETY: LLVM hands over a function that is in a module.
    let Some(mut function_value) = (unsafe { FunctionValue::new(function) }) else {
        return true;
    };
    // SAFETY: the pass that `add_pass` registered together with this function; LLVM runs it from one thread
    // at a time.
    let pass = unsafe { &*pass.cast::<T>() };
    let result = panic_guard::catch(|| pass.run_pass(&mut function_value, &FunctionAnalysisManager::new()));
    result.unwrap_or_else(|panic| {
        // SAFETY: the function is in a module.
        let module = unsafe { LLVMGetGlobalParent(function) };
        // SAFETY: a live module that stays LLVM's, so it is never dropped here.
        let module = ManuallyDrop::new(unsafe { Module::new(module) });
        diagnose(&module, Severity::Error, &panic_report::<T>(&panic));
        PreservedAnalyses::None
    }) == PreservedAnalyses::All
}

fn panic_report<T>(panic: &str) -> String {
    format!("the pass `{}` {panic}", std::any::type_name::<T>())
}
