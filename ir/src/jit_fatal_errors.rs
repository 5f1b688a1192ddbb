//! Keeps a fatal error of LLVM from ending the program: the thread it happens on reports it and then sleeps for ever.
//!
//! LLVM aborts the process after a fatal error ("Cannot select", for instance), whatever the handler does, unless the handler
//! does not come back. Unwinding through LLVM's frames is not possible. So work that may fail like this runs on a thread of its
//! own, given up when it fails.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::io::Write;
use std::sync::Once;

use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;

/// What a thread does with LLVM's message before it parks.
type Report = Box<dyn FnOnce(String)>;

thread_local! {
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };
}

/// From now on, a fatal error on *this* thread calls `report` with LLVM's message and parks the thread for ever. Fatal errors
/// on threads that never called this end the process, as LLVM does by itself.
///
/// What the thread owns is leaked when that happens, and locks it holds stay locked: `report` must release what others wait for.
pub fn park_this_thread_on_fatal_error(report: impl FnOnce(String) + 'static) {
    static INSTALL: Once = Once::new();
    // SAFETY: the handler is a function that lives as long as the program.
    INSTALL.call_once(|| unsafe { LLVMInstallFatalErrorHandler(Some(on_fatal_error)) });
    REPORT.set(Some(Box::new(report)));
}

extern "C" fn on_fatal_error(reason: *const c_char) {
    // SAFETY: LLVM passes a C string that lives during the call.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    let report = REPORT.try_with(RefCell::take).ok().flatten();
    let Some(report) = report else {
        // With a handler installed LLVM prints nothing itself before it aborts.
        let _ = writeln!(std::io::stderr(), "LLVM ERROR: {reason}");
        return;
    };
    report(reason);
    loop {
        std::thread::park();
    }
}
