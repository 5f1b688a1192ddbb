//! What can go wrong while a module is prepared for the JIT.

use offloom_ir::codegen::CodegenError;
use offloom_ir::inkwell::builder::BuilderError;

/// A module that cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum JitPassError {
    /// A pass pipeline failed.
    #[error(transparent)]
    Codegen(#[from] CodegenError),
    /// An instruction could not be built: a mistake of ours, reported instead of a panic.
    #[error("cannot build a dispatch stub: {0}")]
    Builder(#[from] BuilderError),
    /// The result is not valid IR: a mistake of ours, or invalid input.
    #[error("the {what} is not valid IR: {reason}")]
    Invalid {
        /// Which module.
        what: &'static str,
        /// The verifier's words.
        reason: String,
    },
    /// An operation of a processor that this LLVM does not know: a mistake of ours.
    #[error("this LLVM has no `{0}`")]
    NoIntrinsic(&'static str),
    /// A kernel that is not in the module.
    #[error("the module defines no kernel `{0}`")]
    NoSuchKernel(String),
    /// LLVM's passes have other threads execute the kernel than those with which it is launched.
    #[error(
        "`{0}` would be executed by other threads than the base image's: LLVM's passes changed its execution mode"
    )]
    OtherExecutionMode(String),
    /// A variable that each of a GPU's modules would have a copy of.
    #[error("the variable `{0}` would be the variant's own, apart from the base image's")]
    OwnState(String),
    /// Something that variants share with the base image is not in it: a mistake of ours.
    #[error("the base image's module has no `{0}`, which its variants refer to")]
    NoSuchAnchor(String),
}
