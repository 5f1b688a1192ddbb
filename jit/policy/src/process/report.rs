//! What is said to the user, as the settings ask for.

use std::fmt::Display;

pub use crate::process::error_stream::line;
use crate::process::settings::settings;

/// Says that something failed. With `OFFLOOM_JIT_STRICT=1` the process ends here.
pub fn failure(what: impl Display) {
    line(what);
    if settings().strict {
        line("OFFLOOM_JIT_STRICT=1: giving up");
        std::process::abort();
    }
}

/// Says what was done, if `OFFLOOM_JIT_LOG=1` asks for it.
pub fn log(what: impl Display) {
    if settings().log {
        line(what);
    }
}
