//! The pipeline that device code goes through, ahead of time and in a compile: one, of which link-time
//! optimisation makes the ahead-of-time image too.
//!
//! There is no shorter one for a first compile: `default<O1>` takes as long once what the ahead-of-time code
//! has gone through already is left out (`docs/dev/jit-pipeline.md`).

use offloom_abi::names::{OPENMP_DEVICE_MODULE_FLAG, OPENMP_MODULE_FLAG};
use offloom_ir::inkwell::module::Module;
use offloom_ir::module::remove_flag;

/// The pipeline for an optimisation level, 0 to 3, in the syntax of `opt -passes`.
pub fn link_time_pipeline(optimization_level: u32) -> String {
    format!("lto<O{optimization_level}>")
}

/// LLVM's option for vectors of loops that sum floating-point numbers, in the order of the source, so with
/// the same bits. It is on while a variant is compiled, where that is all that a process does at the time;
/// base images are compiled without it, as ahead-of-time images are.
pub const VARIANT_OPTION: &str = "force-ordered-reductions";

/// Has LLVM's OpenMPOpt leave the variant alone. The ahead-of-time pipeline has done what there is for it to
/// do, and it takes a third of the time of all passes. It would also hand calls the address of a copy of an
/// anchor (`survey.rs`), code that goes with the variant.
pub(crate) fn leave_out_openmp_opt(variant: &Module<'_>) {
    for flag in [OPENMP_MODULE_FLAG, OPENMP_DEVICE_MODULE_FLAG] {
        remove_flag(variant, flag);
    }
}

/// Which vectors the SLP vectoriser makes of straight-line code. It compares costs of instructions and knows
/// nothing of registers, of which vectors need fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StraightLineVectors {
    /// Those that cost less than the scalars: LLVM's default.
    Cheaper,
    /// Those that cost a few instructions more, too.
    LittleDearer,
}

impl StraightLineVectors {
    /// LLVM's switch for it, which is the whole process's.
    pub const fn switch(self) -> &'static str {
        match self {
            Self::Cheaper => "-slp-threshold=0",
            Self::LittleDearer => "-slp-threshold=-4",
        }
    }
}
