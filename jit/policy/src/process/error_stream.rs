//! One line at a time on the standard error stream.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

use offloom_text_table::printable;

use crate::process::guard::write_signals::without_write_signals;

/// Says it.
pub fn line(what: impl Display) {
    // The standard library's stream has a lock, which a thread that a forked child does not have may hold for
    // ever. SAFETY: it is not closed here. Where the program has closed it there is nobody to tell, and
    // writing fails.
    let mut stream = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDERR_FILENO) });
    // Names in it are those of files and of the environment.
    let what = format!("{what}");
    let line = format!("offloom-jit: {}\n", printable(&what));
    // One write, so that lines of several threads do not mix.
    without_write_signals(|| {
        let _ = stream.write_all(line.as_bytes());
    });
}
