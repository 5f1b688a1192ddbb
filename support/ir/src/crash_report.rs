//! What a process says when a thread of it crashes: whoever waits for its work can tell that from being ended
//! from outside.

use std::ffi::c_int;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};

/// Signals that a thread brings about by what it does, and what they are called.
const CRASHES: [(c_int, &str); 5] = [
    (SIGABRT, "SIGABRT"),
    (SIGBUS, "SIGBUS"),
    (SIGFPE, "SIGFPE"),
    (SIGILL, "SIGILL"),
    (SIGSEGV, "SIGSEGV"),
];

/// Where the report goes, and its text for each of [`CRASHES`].
struct CrashReport {
    to: RawFd,
    words: [Vec<u8>; CRASHES.len()],
}

static CRASH_REPORT: OnceLock<CrashReport> = OnceLock::new();

/// The thread that has a crash report; 0: none.
static THREAD: AtomicI32 = AtomicI32::new(0);

/// From now on, a crash of the calling thread writes what `words` makes of the signal's name to `to`, and
/// ends the process. At most one thread has a crash report, the one that called this last; what it says, and
/// where it goes, is as it was at the first call.
///
/// A stack overflow is a crash that is told of on threads that Rust's standard library started in a program
/// of Rust: others have no stack for it.
pub fn leave(to: BorrowedFd<'static>, words: impl Fn(&str) -> Vec<u8>) {
    CRASH_REPORT.get_or_init(|| CrashReport {
        to: to.as_raw_fd(),
        words: CRASHES.map(|(_, name)| words(name)),
    });
    // SAFETY: sets and actions are local and initialised by the calls that fill them, or all zeros, which is
    // a valid action; the handler is a function that lives as long as the process and calls only what may be
    // called in one.
    unsafe {
        THREAD.store(libc::gettid(), Ordering::Relaxed);
        let mut crashes = mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut crashes);
        for (signal, _) in CRASHES {
            libc::sigaddset(&raw mut crashes, signal);
            let mut action = mem::zeroed::<libc::sigaction>();
            action.sa_sigaction = say as extern "C" fn(c_int) as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
        // A crash whose signal is blocked ends the process at once.
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const crashes, ptr::null_mut());
    }
}

extern "C" fn say(signal: c_int) {
    // SAFETY: may be called in a signal handler.
    let thread = unsafe { libc::gettid() };
    if thread == THREAD.load(Ordering::Relaxed)
        && let Some(CrashReport { to, words }) = CRASH_REPORT.get()
        && let Some(words) = CRASHES.iter().zip(words).find(|((crash, _), _)| *crash == signal)
    {
        let words = words.1;
        // SAFETY: the bytes live as long as the process. May be called in a signal handler.
        unsafe { libc::write(*to, words.as_ptr().cast(), words.len()) };
    }
    // The default action is in force again, and ends the process. SAFETY: may be called in a signal handler.
    unsafe { libc::raise(signal) };
}
