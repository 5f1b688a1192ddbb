//! Runs work on a thread that LLVM may lose, so that a fatal error or a hang does not end the program.
//!
//! LLVM aborts the process after a fatal error ("Cannot select", for instance), whatever the handler does,
//! unless the handler does not come back. Unwinding through LLVM's frames is not possible. So work that may
//! fail like this runs on a thread of its own, which reports the error and then sleeps for ever; one that
//! takes too long is left alone as well. A crash is not caught.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Once, OnceLock};
use std::thread;
use std::time::Duration;

use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use offloom_thread::{ProcessorClock, spawn_without_signals};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// LLVM gave up. The thread sleeps for ever; what it owned is leaked and its locks stay locked.
    #[error("fatal error in LLVM: {0}")]
    FatalError(String),
    /// The work panicked; the panic's message has been printed.
    #[error("an internal error (a panic)")]
    Panic,
    /// It took too long. The thread may still be running.
    #[error("it took longer than {} ms", .0.as_millis())]
    Deadline(Duration),
    /// As that, but for less than half of the time the thread was at work: the process may have been stopped,
    /// or others may have had the processors.
    #[error("it had {} ms of processor time in the {} ms that it may take", .at_work.as_millis(), .deadline.as_millis())]
    NotAtWork {
        /// How long it might take.
        deadline: Duration,
        /// What it had of the processors.
        at_work: Duration,
    },
    /// The system has no thread left.
    #[error("cannot start a thread, for want of memory, or for a limit on that or on threads: {0}")]
    NoThread(io::Error),
}

impl Lost {
    /// Why there is no result at the deadline of a thread that has had so much of the processors; nothing: it
    /// has not begun.
    pub fn late(deadline: Duration, at_work: Option<Duration>) -> Self {
        let at_work = at_work.unwrap_or_default();
        if at_work < deadline / 2 {
            return Self::NotAtWork { deadline, at_work };
        }
        Self::Deadline(deadline)
    }
}

/// How work on the thread ends: with its value, or with LLVM's message.
type Outcome<T> = Result<T, String>;

/// What a thread does with LLVM's message before it parks.
type Report = Box<dyn FnOnce(String)>;

thread_local! {
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };
}

/// Runs `work` on a thread of its own and waits for it, at most `deadline`.
///
/// The thread blocks all signals: handlers of the program are not to run on it.
///
/// # Errors
/// When the work has no result.
pub fn run_on_sacrificial_thread<T: Send + 'static>(
    deadline: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Lost> {
    let (sender, receiver) = mpsc::channel::<Outcome<T>>();
    let on_fatal_error = sender.clone();
    let clock = Arc::new(OnceLock::new());
    let clock_of_body = Arc::clone(&clock);
    let body = move || {
        let _ = clock_of_body.set(ProcessorClock::of_this_thread());
        park_this_thread_on_fatal_error(move |reason| {
            // The other end may have given up waiting.
            let _ = on_fatal_error.send(Err(reason));
        });
        let _ = sender.send(Ok(work()));
    };
    spawn_without_signals(body).map_err(Lost::NoThread)?;
    match receiver.recv_timeout(deadline) {
        Ok(outcome) => outcome.map_err(Lost::FatalError),
        Err(RecvTimeoutError::Timeout) => Err(Lost::late(deadline, clock.get().map(ProcessorClock::now))),
        Err(RecvTimeoutError::Disconnected) => Err(Lost::Panic),
    }
}

/// From now on, a fatal error on *this* thread calls `report` with LLVM's message and parks the thread for
/// ever. Fatal errors on threads that never called this end the process, as LLVM does by itself.
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
        let _ = writeln!(io::stderr(), "LLVM ERROR: {reason}");
        return;
    };
    report(reason);
    loop {
        thread::park();
    }
}
