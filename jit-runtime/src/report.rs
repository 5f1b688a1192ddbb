//! What is said to the user: one line each on the standard error stream.

use std::fmt::Display;
use std::io::Write;

use crate::settings::settings;

/// Says that something failed. With `OFFLOOM_JIT_STRICT=1` the process ends here.
pub(crate) fn failure(what: impl Display) {
    line(what);
    if settings().strict {
        line("OFFLOOM_JIT_STRICT=1: giving up");
        std::process::abort();
    }
}

/// Says what was done, if `OFFLOOM_JIT_LOG=1` asks for it.
pub(crate) fn log(what: impl Display) {
    if settings().log {
        line(what);
    }
}

/// Says it.
pub(crate) fn line(what: impl Display) {
    // One write, so that lines of several threads do not mix. Where the stream is closed there is nobody to tell.
    let _ = std::io::stderr().write_all(format!("offloom-jit: {what}\n").as_bytes());
}
