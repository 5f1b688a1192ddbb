//! One line at a time on the standard error stream.

use std::fmt::Display;
use std::io::Write;

/// Says it.
pub(crate) fn line(what: impl Display) {
    // One write, so that lines of several threads do not mix. Where the stream is closed there is nobody to tell.
    let _ = std::io::stderr().write_all(format!("offloom-jit: {what}\n").as_bytes());
}
