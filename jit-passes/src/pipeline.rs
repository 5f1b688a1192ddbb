//! The pipeline that device code goes through, ahead of time and in a compile: one, of which link-time optimisation makes the
//! ahead-of-time image too.
//!
//! There is no shorter one for a first compile: `default<O1>` takes as long once what the ahead-of-time code has gone through already is left out
//! (`docs/dev/jit-pipeline.md`).

/// The pipeline for an optimisation level, 0 to 3, in the syntax of `opt -passes`.
pub fn link_time_pipeline(optimization_level: u32) -> String {
    format!("lto<O{optimization_level}>")
}

/// Switches of LLVM that are on while a variant is compiled, where that is all that a process does at the time. Base images are compiled
/// without them, as ahead-of-time images are.
pub const VARIANT_SWITCHES: [&str; 2] = [
    // Vectors of loops that sum floating-point numbers too, in the order of the source, so with the same bits.
    "-force-ordered-reductions",
    // The ahead-of-time pipeline has done what there is for it to do, and it takes a third of the time of all passes.
    "-openmp-opt-disable",
];

/// Which vectors the SLP vectoriser makes of straight-line code. It compares costs of instructions and knows nothing of registers, of
/// which vectors need fewer.
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
