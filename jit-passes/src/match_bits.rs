//! Has a variant give the bits of the ahead-of-time code, however many of its arguments become constants and
//! whatever processor it is compiled for.
//!
//! To be run before constants are put in and before the processor changes. What the source's own constants
//! let the ahead-of-time pipeline rewrite, and the order that its vectoriser chose for `simd` reductions, are
//! part of the result; so that pipeline is run first, up to its vectoriser.
//!
//! Not covered: NaN payloads; conversions to integers of 32 bits and more that are out of range; and, where
//! `fmin` and `fmax` may choose from two zeros of different signs, which one they choose if the ahead-of-time
//! code chooses for several at once. Code generation goes by what it sees to be no NaN, and sees less of that
//! once the SLP vectoriser, which comes later, has packed such calls into vectors. In functions that are not
//! to be optimised these are calls of C's functions by name yet, and are left as they are.

use offloom_ir::codegen::{CodegenError, MachineOptions, target_machine};
use offloom_ir::floating_point::{
    are_bits_matched, expand_operations, forget_denormal_modes, function_with_fast_math, fuse_operations,
    has_conversions_of_processor, is_compiled_in_many_ways, mark_bits_matched, pin_library_calls,
    run_until_vectorized, spell_out_roundings,
};
use offloom_ir::gpu::hide_approximated;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;

use crate::object_contents::noted::ConstantBytes;

/// Why bits cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum MatchBitsError {
    /// Code whose bits depend on how it is compiled.
    #[error(
        "`{function}` was compiled with fast-math or contraction flags, so its bits depend on how it is compiled: compile without them, or \
         do without equal bits"
    )]
    InexactCode {
        /// The function.
        function: String,
    },
    /// The ahead-of-time pipeline could not be run.
    #[error(transparent)]
    Pipeline(#[from] CodegenError),
}

/// Pins every operation of the module whose result could change, for the sake of one kernel or of all.
/// `pipeline` is the one that the ahead-of-time code came from, in the syntax of `opt -passes`; the module is
/// what it started from, other kernels included.
///
/// Does nothing where it was done before, or where the kernel needs it nowhere.
///
/// # Errors
/// When an instruction may be computed in more than one way (the module is unchanged then), or when the
/// pipeline cannot be run.
pub fn match_bits<'ctx>(
    module: &Module<'ctx>,
    kernel: Option<FunctionValue<'ctx>>,
    pipeline: &str,
) -> Result<(), MatchBitsError> {
    if let Some(function) = function_with_fast_math(module, kernel) {
        return Err(MatchBitsError::InexactCode {
            function: function.get_name().to_string_lossy().into_owned(),
        });
    }
    // A second time would take the constants for the source's.
    if are_bits_matched(module) || !is_compiled_in_many_ways(module, kernel) {
        return Ok(());
    }
    settle_bits(module, &ConstantBytes::find(module), pipeline)?;
    Ok(())
}

/// Whether the module's code has the ahead-of-time code's bits only on the processor that this is for: of
/// vectors of numbers that do not fit, code generation for each processor makes other integers, and of
/// single ones integers of unusual sizes.
pub(crate) fn is_bound_to_processor(module: &Module<'_>) -> bool {
    are_bits_matched(module) && has_conversions_of_processor(module)
}

/// Does it for the whole module and whether it is needed or not, so that nothing is left to do when a kernel
/// of it is compiled. `constant` is what was found of its kernels.
///
/// [`match_bits`] still has to be asked for each kernel: what this cannot help with, it finds.
///
/// # Errors
/// When the pipeline cannot be run.
pub fn settle_bits(
    module: &Module<'_>,
    constant: &ConstantBytes,
    pipeline: &str,
) -> Result<(), CodegenError> {
    let triple = module.get_triple();
    let machine = target_machine(&MachineOptions {
        triple: &triple.as_str().to_string_lossy(),
        // Functions carry the processor the ahead-of-time code was made for.
        cpu: "",
        features: "",
        optimization_level: 3,
    })?;
    run_until_vectorized(module, &machine, pipeline)?;
    // What the pipeline folded, it folded ahead of time, too. What the ahead-of-time code computes is what
    // the processor does.
    forget_denormal_modes(module);
    // Found before: the pipeline drops the types of loads that it moves.
    constant.note(module);
    fuse_operations(module);
    expand_operations(module);
    spell_out_roundings(module);
    pin_library_calls(module);
    mark_bits_matched(module);
    Ok(())
}

/// The same for a GPU's module. What `ptxas` and the hardware make different bits of are approximations: of
/// constants that come in later, `ptxas` is not to fold them. LLVM is not to fold the product of a fused
/// operation either, nor to round once what code generation rounds twice.
pub(crate) fn settle_gpu_bits(module: &Module<'_>) {
    fuse_operations(module);
    spell_out_roundings(module);
    hide_approximated(module);
    mark_bits_matched(module);
}
