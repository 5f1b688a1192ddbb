//! Compares what `wrapgen` makes with what the LLVM tools make that it stands in for.
#![forbid(unsafe_code)]

mod registration_object;
mod tools;
mod wrapped_module;
