//! Compares what `wrapgen` makes with what the LLVM tools make that it stands in for.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed step of a test ends the test"
)]

#[cfg(offload_wrapper)]
mod offload_wrapper;
mod registration_object;
#[cfg(offload_wrapper)]
mod sycl;
mod tools;
mod wrapped_module;
