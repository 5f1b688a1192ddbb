//! Has a variant give the bits of the ahead-of-time code, however many of its arguments become constants and whatever processor it is
//! compiled for.
//!
//! To be run on what the ahead-of-time pipeline has simplified for the ahead-of-time processor, before constants are put in: what
//! the source's own constants let that pipeline rewrite must have been rewritten. Not covered: the order of additions in `simd`
//! reductions, which the vectoriser chooses; NaN payloads; conversions that are out of range.

use offloom_ir::floating_point::{expand_operations, function_with_fast_math, pin_library_calls};
use offloom_ir::inkwell::module::Module;

/// Code whose bits cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{function}` was compiled with fast-math or contraction flags, so its bits depend on how it is compiled: compile without them, or \
     do without equal bits"
)]
pub struct InexactCode {
    /// The function.
    pub function: String,
}

/// Pins every operation of the module whose result could change.
///
/// # Errors
/// When an instruction may be computed in more than one way; the module is unchanged then.
pub fn match_bits(module: &Module<'_>) -> Result<(), InexactCode> {
    if let Some(function) = function_with_fast_math(module) {
        return Err(InexactCode {
            function: function.get_name().to_string_lossy().into_owned(),
        });
    }
    expand_operations(module);
    pin_library_calls(module);
    Ok(())
}
