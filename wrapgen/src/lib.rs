//! Offload packager, wrapper and device linker.

pub mod error;
pub mod inputs;
pub mod output;

pub use error::{Error, Result};
