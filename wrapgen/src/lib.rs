//! Offload packager, wrapper and device linker.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod bitcode_tool;
pub mod cli;
pub mod error;
pub mod extract;
pub mod image_argument;
pub mod inputs;
pub mod inspect;
mod interrupt;
pub mod jit;
pub mod link;
pub mod messages;
pub mod output;
pub mod pack;
pub mod packager;
pub mod process;
pub mod response_file;
mod static_library;
pub mod steps;
pub mod toolchain;
pub mod wrap;

pub use error::{Error, Result};
/// The LLVM release whose formats and commands this build stands in for.
pub use offloom_ir::LLVM;
