//! Lines on the error stream.

use std::fmt::Display;
use std::io::Write as _;

/// Prints one line. Where the error stream is closed, nobody reads it.
pub(crate) fn line(text: impl Display) {
    let line = format!("virtual GPU: {text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
