//! What LLVM asks of a plugin when it has loaded it: the plugin information structure.

use crate::PassBuilder;
use crate::panic_guard;
use std::ffi::{CStr, c_char, c_void};

unsafe extern "C" {
    fn llvm_plugin_api_version() -> u32;
}

/// The structure `llvm::PassPluginLibraryInfo` of `llvm/Passes/PassPlugin.h` (19) and
/// `llvm/Plugins/PassPlugin.h` (22).
#[repr(C)]
#[derive(Debug)]
pub struct PassPluginLibraryInfo {
    api_version: u32,
    plugin_name: *const c_char,
    plugin_version: *const c_char,
    register_callbacks: unsafe extern "C" fn(*mut c_void),
    /// Called before code generation, by releases whose header has it; null: nothing to do.
    #[cfg(pre_codegen_callback)]
    pre_code_generation: *const c_void,
}

/// The major version this crate was compiled for.
const LLVM_MAJOR: &str = env!("OFFLOOM_LLVM_MAJOR");

/// Fills in the plugin information.
///
/// Ends the process with a message when the program runs another LLVM: the structure returned here would be
/// larger or smaller than the one the program expects, and returning it would overwrite the program's stack.
pub fn plugin_info(
    name: &'static CStr,
    version: &'static CStr,
    register_callbacks: unsafe extern "C" fn(*mut c_void),
) -> PassPluginLibraryInfo {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three writable integers, as the function asks for.
    unsafe { inkwell::llvm_sys::core::LLVMGetVersion(&raw mut major, &raw mut minor, &raw mut patch) };
    if major.to_string() != LLVM_MAJOR {
        eprintln!(
            "error: the plugin `{}` is for LLVM {LLVM_MAJOR}, but this program runs LLVM {major}.{minor}.{patch}: \
             load the plugin that was built for LLVM {major}",
            name.to_string_lossy()
        );
        std::process::exit(1);
    }
    PassPluginLibraryInfo {
        // SAFETY: takes nothing and returns a number.
        api_version: unsafe { llvm_plugin_api_version() },
        plugin_name: name.as_ptr(),
        plugin_version: version.as_ptr(),
        register_callbacks,
        #[cfg(pre_codegen_callback)]
        pre_code_generation: std::ptr::null(),
    }
}

/// Runs the plugin's registrar on LLVM's `PassBuilder`.
///
/// # Safety
/// `builder` must be the `llvm::PassBuilder` that LLVM handed to the plugin, and stay alive during the call.
pub unsafe fn register(builder: *mut c_void, registrar: fn(&mut PassBuilder)) {
    // SAFETY: passed on from our caller.
    let mut builder = unsafe { PassBuilder::from_raw(builder) };
    if let Err(panic) = panic_guard::catch(|| registrar(&mut builder)) {
        // There is no LLVM context to report to yet.
        eprintln!("error: registering the passes of a plugin failed: {panic}");
    }
}
