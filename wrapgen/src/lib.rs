//! Offload packager, wrapper and device linker.
#![forbid(unsafe_code)]
