//! Compares what `wrapgen` makes with what the LLVM tools make that it stands in for.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed step of a test ends the test"
)]

#[cfg(all(feature = "llvm22", not(feature = "llvm19")))]
mod offload_wrapper;
mod registration_object;
#[cfg(all(feature = "llvm22", not(feature = "llvm19")))]
mod sycl;
mod tools;
mod wrapped_module;
