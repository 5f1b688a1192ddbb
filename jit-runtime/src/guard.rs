//! Keeps panics inside: every function that C code calls goes through here.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::report;

/// Runs `body`; a panic in it is reported and becomes `otherwise`.
pub(crate) fn guarded<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    // State that a panic could leave half-written is behind mutexes, which it poisons.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        report::failure("an internal error (a panic); kernels go on ahead of time");
        otherwise
    })
}
