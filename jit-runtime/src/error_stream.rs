//! One line at a time on the standard error stream.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::ptr;

use offloom_text_table::printable;

/// Says it.
pub(crate) fn line(what: impl Display) {
    // The standard library's stream has a lock, which a thread that a forked child does not have may hold for ever.
    // SAFETY: it is not closed here. Where the program has closed it there is nobody to tell, and writing fails.
    let mut stream = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDERR_FILENO) });
    // Names in it are those of files and of the environment.
    let what = format!("{what}");
    let line = format!("offloom-jit: {}\n", printable(&what));
    // One write, so that lines of several threads do not mix.
    without_broken_pipe(|| {
        let _ = stream.write_all(line.as_bytes());
    });
}

/// Does what may write to a pipe that nobody reads any more, which ends a program that does not expect it: the signal goes to the thread
/// that writes, and is taken before that may have it.
fn without_broken_pipe(write: impl FnOnce()) {
    // SAFETY: the sets are initialised by the calls that fill them; only this thread's signals are looked at.
    unsafe {
        let [mut broken_pipe, mut before, mut pending] = std::mem::zeroed::<[libc::sigset_t; 3]>();
        libc::sigemptyset(&raw mut broken_pipe);
        libc::sigaddset(&raw mut broken_pipe, libc::SIGPIPE);
        libc::sigpending(&raw mut pending);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const broken_pipe, &raw mut before);
        write();
        // One that the program has blocked, and not taken yet, is its own.
        if libc::sigismember(&raw const pending, libc::SIGPIPE) == 0 {
            let now = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            while libc::sigtimedwait(&raw const broken_pipe, ptr::null_mut(), &raw const now) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
    }
}
