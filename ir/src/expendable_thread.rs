//! Runs work on a thread that LLVM may lose, so that a fatal error or a hang does not end the program.
//!
//! LLVM aborts the process after a fatal error ("Cannot select", for instance), whatever the handler does, unless the handler
//! does not come back. Unwinding through LLVM's frames is not possible. So work that may fail like this runs on a thread of its
//! own, which reports the error and then sleeps for ever; one that takes too long is left alone as well. A crash is not caught.
//!
//! The C library calls `exit` on a thread that ends as the last of the process. A thread that an exit handler has started is that, if the
//! handler runs because the last thread ended: the thread that started it does not count any more. Handlers would then run on both at
//! once, so such a thread waits ([`OutliveStarter`]).

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char};
use std::fs;
use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Once, OnceLock};
use std::thread;
use std::time::Duration;

use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;

/// LLVM recurses deeply over large functions.
const STACK_SIZE: usize = 64 << 20;

/// How often is looked whether the thread that started this one still runs.
const PAUSE: Duration = Duration::from_millis(1);

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
    /// As that, but for less than half of the time the thread was at work: the process may have been stopped, or others may have had the processors.
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
    /// Why there is no result at the deadline of a thread that has had so much of the processors; nothing: it has not begun.
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
pub fn run_on_expendable_thread<T: Send + 'static>(
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

/// Tells how long a thread has been at work, to any thread.
#[derive(Debug, Clone, Copy)]
pub struct ProcessorClock(libc::clockid_t);

impl ProcessorClock {
    /// The calling thread's.
    pub fn of_this_thread() -> Self {
        let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
        // SAFETY: fills the number. What cannot be had is another thread's own, which tells less than half.
        unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        Self(clock)
    }

    /// How long it has been at work; a thread that is gone: nothing.
    pub fn now(&self) -> Duration {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: fills the record.
        unsafe { libc::clock_gettime(self.0, &raw mut time) };
        Duration::new(
            u64::try_from(time.tv_sec).unwrap_or(0),
            u32::try_from(time.tv_nsec).unwrap_or(0),
        )
    }
}

/// Starts a thread on which no signal is delivered, which is not scheduled in real time, and which does not end the process while the
/// calling thread runs.
///
/// # Errors
/// When the system has no thread left.
pub fn spawn_without_signals(body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // SAFETY: both sets are local and initialised by the calls; the mask is restored before returning; a thread has an identifier.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        let mut before = std::mem::zeroed::<libc::sigset_t>();
        let starter = libc::gettid();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let thread = thread::Builder::new()
            .name("offloom-jit".to_owned())
            .stack_size(STACK_SIZE)
            .spawn(move || {
                // Not before: what the thread would have got is dropped on this one if there is no thread to start.
                let _starter = OutliveStarter(starter);
                leave_real_time();
                body();
            });
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        thread.map(drop)
    }
}

/// Has the calling thread scheduled as others are if it is scheduled in real time, which it inherits from the thread that started it: work that
/// may take seconds would keep the rest of the machine waiting. Neither allocates nor locks.
pub fn leave_real_time() {
    // SAFETY: the parameter is live during the call. Leaving needs no rights, and what cannot be left stays.
    unsafe {
        let policy = libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK;
        if matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR) {
            let parameter = std::mem::zeroed::<libc::sched_param>();
            libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameter);
        }
    }
}

/// The thread that started this one. Once dropped, an `exit` that this thread's end brings about waits as long as that one runs: it is then
/// inside another `exit`.
struct OutliveStarter(libc::pid_t);

thread_local! {
    static STARTER: Cell<Option<libc::pid_t>> = const { Cell::new(None) };
}

impl Drop for OutliveStarter {
    fn drop(&mut self) {
        STARTER.set(Some(self.0));
        // Each time, so that it comes before what was registered since.
        // SAFETY: the handler is a function of a library that is never unloaded.
        unsafe { libc::atexit(outlive_starter_at_exit) };
    }
}

extern "C" fn outlive_starter_at_exit() {
    outlive_starter();
}

/// For exit handlers. Where this thread is one that has done its work, waits until the thread that started it has ended: that one is
/// in another `exit`. Does nothing on other threads.
pub fn outlive_starter() {
    let Some(starter) = STARTER.get() else { return };
    while runs(starter) {
        thread::sleep(PAUSE);
    }
}

/// Whether a thread of this process has not ended. A process's first thread stays as a zombie.
fn runs(thread: libc::pid_t) -> bool {
    let state = fs::read(format!("/proc/self/task/{thread}/stat"));
    state.is_ok_and(|state| {
        // The name, in parentheses, may hold anything, which need not be UTF-8.
        let state = String::from_utf8_lossy(&state);
        let behind_name = state.rsplit(')').next().unwrap_or_default();
        !behind_name.trim_start().starts_with(['Z', 'X'])
    })
}

/// From now on, a fatal error on *this* thread calls `report` with LLVM's message and parks the thread for ever. Fatal errors
/// on threads that never called this end the process, as LLVM does by itself.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_until_it_ends_whatever_its_name_is() {
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            // A name cut inside a character.
            let name = c"\xc3) Z (\xe2\x82";
            // SAFETY: the name lives during the call.
            let named = unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
            // SAFETY: every thread has an identifier.
            tell.send((named, unsafe { libc::gettid() })).unwrap();
            let _ = ended.recv();
        });
        let (named, identifier) = told.recv().unwrap();
        assert_eq!(named, 0);
        assert!(runs(identifier));
        drop(end);
        thread.join().unwrap();
        // Joined, it may not be gone from the system yet.
        while runs(identifier) {
            thread::sleep(PAUSE);
        }
    }
}
