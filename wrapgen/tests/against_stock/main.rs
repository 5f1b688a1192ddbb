//! Compares what `wrapgen` makes with what the LLVM tools make that it stands in for.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed step of a test ends the test"
)]

mod registration_object;
mod tools;
mod wrapped_module;
