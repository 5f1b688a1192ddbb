//! Every on-disk and in-memory format of OpenMP offloading: no LLVM, no I/O.
#![forbid(unsafe_code)]

pub mod version;

pub use version::LlvmVersion;
