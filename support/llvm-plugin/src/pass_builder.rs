//! Registration: pass names and extension points.

use crate::pass_manager::delete;
use crate::{FunctionPassManager, ModulePassManager, panic_guard};
use std::ffi::{c_char, c_int, c_void};

type Delete = unsafe extern "C" fn(*mut c_void);
type CallParser = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *mut c_void) -> bool;
type CallExtension = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int);

unsafe extern "C" {
    fn llvm_plugin_add_module_parsing_callback(
        builder: *mut c_void,
        callback: *mut c_void,
        delete: Delete,
        call: CallParser,
    );
    fn llvm_plugin_add_function_parsing_callback(
        builder: *mut c_void,
        callback: *mut c_void,
        delete: Delete,
        call: CallParser,
    );
    fn llvm_plugin_add_extension_callback(
        builder: *mut c_void,
        point: c_int,
        callback: *mut c_void,
        delete: Delete,
        call: CallExtension,
    );
}

/// What a pipeline-parsing callback says about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PipelineParsing {
    /// The name is one of ours, and its pass was added.
    Parsed,
    /// The name is not ours: LLVM asks the next callback.
    NotParsed,
}

/// The `-O` level a pipeline is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the compiler's options")]
pub enum OptimizationLevel {
    O0,
    O1,
    O2,
    O3,
    Os,
    Oz,
}

impl OptimizationLevel {
    /// By the numbers of `levelNumber` in plugin_shim.cpp.
    fn from_number(number: c_int) -> Self {
        match number {
            0 => Self::O0,
            1 => Self::O1,
            2 => Self::O2,
            4 => Self::Os,
            5 => Self::Oz,
            _ => Self::O3,
        }
    }
}

/// Extension points, with the numbers that plugin_shim.cpp knows.
#[derive(Clone, Copy)]
enum ExtensionPoint {
    PipelineStart = 0,
    OptimizerLast = 1,
    FullLtoEarly = 2,
    FullLtoLast = 3,
}

/// Where a plugin registers its callbacks, once, when it is loaded.
#[derive(Debug)]
pub struct PassBuilder {
    builder: *mut c_void,
}

impl PassBuilder {
    /// # Safety
    /// `builder` must be a live `llvm::PassBuilder` that nobody else uses while the value exists.
    pub(crate) unsafe fn from_raw(builder: *mut c_void) -> Self {
        Self { builder }
    }

    /// Asks `callback` about each name in a textual pipeline that LLVM does not know, where passes over
    /// modules may stand.
    ///
    /// A name arrives with its parameters, as `name<key=value;key=value>`; [`crate::parameters`] takes it
    /// apart. LLVM cuts a pipeline at every comma and parenthesis, also inside of `<>`. The first name of a
    /// pipeline is asked about twice: once to learn what kind of pass it is, with a pass manager that is
    /// thrown away.
    pub fn add_module_pipeline_parsing_callback<T>(&mut self, callback: T)
    where
        T: Fn(&str, &mut ModulePassManager<'_>) -> PipelineParsing + 'static,
    {
        let callback = Box::into_raw(Box::new(callback)).cast();
        // SAFETY: the builder is live; the callback goes over with the functions that call and free exactly
        // this type.
        unsafe {
            llvm_plugin_add_module_parsing_callback(
                self.builder,
                callback,
                delete::<T>,
                parse_module_pass::<T>,
            );
        }
    }

    /// The same for names where passes over functions may stand.
    pub fn add_function_pipeline_parsing_callback<T>(&mut self, callback: T)
    where
        T: Fn(&str, &mut FunctionPassManager<'_>) -> PipelineParsing + 'static,
    {
        let callback = Box::into_raw(Box::new(callback)).cast();
        // SAFETY: the builder is live; the callback goes over with the functions that call and free exactly
        // this type.
        unsafe {
            llvm_plugin_add_function_parsing_callback(
                self.builder,
                callback,
                delete::<T>,
                parse_function_pass::<T>,
            );
        }
    }

    /// Calls back when a pipeline starts, at every `-O` level, before any other pass. Not when LTO runs at
    /// link time.
    pub fn add_pipeline_start_ep_callback<T>(&mut self, callback: T)
    where
        T: Fn(&mut ModulePassManager<'_>, OptimizationLevel) + 'static,
    {
        self.add_extension(ExtensionPoint::PipelineStart, callback);
    }

    /// Calls back at the end of the optimisation pipeline, at every `-O` level, before code generation (or,
    /// when compiling for LTO, before the bitcode is written).
    pub fn add_optimizer_last_ep_callback<T>(&mut self, callback: T)
    where
        T: Fn(&mut ModulePassManager<'_>, OptimizationLevel) + 'static,
    {
        self.add_extension(ExtensionPoint::OptimizerLast, callback);
    }

    /// Calls back at link time, when full LTO starts on the merged module.
    pub fn add_full_lto_early_ep_callback<T>(&mut self, callback: T)
    where
        T: Fn(&mut ModulePassManager<'_>, OptimizationLevel) + 'static,
    {
        self.add_extension(ExtensionPoint::FullLtoEarly, callback);
    }

    /// Calls back at link time, after full LTO has optimised the merged module.
    pub fn add_full_lto_last_ep_callback<T>(&mut self, callback: T)
    where
        T: Fn(&mut ModulePassManager<'_>, OptimizationLevel) + 'static,
    {
        self.add_extension(ExtensionPoint::FullLtoLast, callback);
    }

    fn add_extension<T>(&mut self, point: ExtensionPoint, callback: T)
    where
        T: Fn(&mut ModulePassManager<'_>, OptimizationLevel) + 'static,
    {
        let callback = Box::into_raw(Box::new(callback)).cast();
        // SAFETY: the builder is live; the callback goes over with the functions that call and free exactly
        // this type.
        unsafe {
            llvm_plugin_add_extension_callback(
                self.builder,
                point as c_int,
                callback,
                delete::<T>,
                extend::<T>,
            );
        }
    }
}

unsafe extern "C" fn parse_module_pass<T>(
    callback: *mut c_void,
    name: *const c_char,
    length: usize,
    manager: *mut c_void,
) -> bool
where
    T: Fn(&str, &mut ModulePassManager<'_>) -> PipelineParsing,
{
    // SAFETY: the callback that was registered together with this function.
    let callback = unsafe { &*callback.cast::<T>() };
    // SAFETY: LLVM lends the name for the duration of the call.
    let name = unsafe { name_from_raw(name, length) };
    // SAFETY: LLVM lends the pass manager for the duration of the call.
    let mut manager = unsafe { ModulePassManager::from_raw(manager) };
    parsed(name, |name| callback(name, &mut manager))
}

unsafe extern "C" fn parse_function_pass<T>(
    callback: *mut c_void,
    name: *const c_char,
    length: usize,
    manager: *mut c_void,
) -> bool
where
    T: Fn(&str, &mut FunctionPassManager<'_>) -> PipelineParsing,
{
    // SAFETY: the callback that was registered together with this function.
    let callback = unsafe { &*callback.cast::<T>() };
    // SAFETY: LLVM lends the name for the duration of the call.
    let name = unsafe { name_from_raw(name, length) };
    // SAFETY: LLVM lends the pass manager for the duration of the call.
    let mut manager = unsafe { FunctionPassManager::from_raw(manager) };
    parsed(name, |name| callback(name, &mut manager))
}

unsafe extern "C" fn extend<T>(callback: *mut c_void, manager: *mut c_void, level: c_int)
where
    T: Fn(&mut ModulePassManager<'_>, OptimizationLevel),
{
    // SAFETY: the callback that was registered together with this function.
    let callback = unsafe { &*callback.cast::<T>() };
    // SAFETY: LLVM lends the pass manager for the duration of the call.
    let mut manager = unsafe { ModulePassManager::from_raw(manager) };
    if let Err(panic) = panic_guard::catch(|| callback(&mut manager, OptimizationLevel::from_number(level))) {
        // There is no LLVM context to report to here.
        eprintln!("error: adding the passes of a plugin failed: {panic}");
    }
}

/// The bytes of a name, or nothing when it is not UTF-8: no pass of ours is called that.
///
/// # Safety
/// `name` must point at `length` bytes that stay as they are for `'a`.
unsafe fn name_from_raw<'a>(name: *const c_char, length: usize) -> Option<&'a str> {
    if length == 0 {
        return Some("");
    }
    // SAFETY: as our caller promises; an empty name, whose pointer may be null, was handled above.
    let bytes = unsafe { std::slice::from_raw_parts(name.cast(), length) };
    std::str::from_utf8(bytes).ok()
}

fn parsed(name: Option<&str>, callback: impl FnOnce(&str) -> PipelineParsing) -> bool {
    let Some(name) = name else { return false };
    match panic_guard::catch(|| callback(name)) {
        Ok(answer) => answer == PipelineParsing::Parsed,
        Err(panic) => {
            // There is no LLVM context to report to here; LLVM goes on to say that it does not know the name.
            eprintln!("error: reading the pass name `{name}` failed: {panic}");
            false
        }
    }
}
