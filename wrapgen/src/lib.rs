//! Offload packager, wrapper and device linker.

pub mod error;
pub mod extract;
pub mod image_argument;
pub mod inputs;
pub mod output;
pub mod pack;
mod static_library;

pub use error::{Error, Result};
/// The LLVM release whose formats and commands this build stands in for.
pub use offloom_ir::LLVM;
