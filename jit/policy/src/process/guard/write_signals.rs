//! Signals that writing brings about, which end a program that does not expect them.

use std::io;
use std::mem;
use std::ptr;

/// A pipe that nobody reads any more, and a file that is larger than the process may write (`ulimit -f`).
const SIGNALS: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Runs what may write on a thread of the program's, which sees neither signal of it: each goes to the thread
/// that writes, and is taken before the program may have it. What could not be written is an error all the
/// same.
pub fn without_write_signals<T>(write: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are initialised by the calls that fill them; only this thread's signals are looked at.
    unsafe {
        let [mut ours, mut before, mut pending] = mem::zeroed::<[libc::sigset_t; 3]>();
        libc::sigpending(&raw mut pending);
        libc::sigemptyset(&raw mut ours);
        for signal in SIGNALS {
            libc::sigaddset(&raw mut ours, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const ours, &raw mut before);
        let written = write();
        // One that the program has blocked, and not taken yet, is its own.
        for signal in SIGNALS {
            if libc::sigismember(&raw const pending, signal) == 1 {
                libc::sigdelset(&raw mut ours, signal);
            }
        }
        let now = mem::zeroed::<libc::timespec>();
        while libc::sigtimedwait(&raw const ours, ptr::null_mut(), &raw const now) > 0
            || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        written
    }
}
