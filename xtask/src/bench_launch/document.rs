//! What `docs/results/launch.md` says besides figures.

use crate::figures_document::FiguresDocument;

/// Launches whose variant is found at once.
pub(super) const LAUNCHES: &str = "launches of a tiny kernel";
/// Programs that do hardly more than start.
pub(super) const START: &str = "start of a program";
/// First launches of kernels.
pub(super) const FIRST_COMPILE: &str = "first launch of a kernel";
/// The table of variants by itself.
pub(super) const LOOK_UP: &str = "look-up alone";

/// What is measured, in the order of the document.
pub(super) const TITLES: [&str; 4] = [LAUNCHES, START, FIRST_COMPILE, LOOK_UP];

/// The page.
pub(super) const DOCUMENT: FiguresDocument = FiguresDocument {
    name: "launch",
    introduction: "# What the JIT costs, measured\n\n\
        Written by `cargo xtask bench-launch`. Programs with and without the JIT run in turn within each repetition. `without` and `with` are \
        medians; the difference or ratio is the median of those of the repetitions, with its 95% bootstrap confidence interval. A goal is \
        met if the whole interval is on its good side, and open if the goal is inside.\n\n\
        * *launches of a tiny kernel*: with ten arguments, which takes as long as launching does. Time is processor time of the launching \
        thread; the launches are divided among the threads. `without`: the same program with `OFFLOOM_JIT=off`. A warm cache is one on \
        disk that an earlier run has filled.\n\
        * *start of a program*: from before it is started to after its end; processor time is that of the program with all its threads. \
        `without`: linked without `--jit`. The cache holds 10,000 images.\n\
        * *first launch of a kernel*: `OFFLOOM_JIT=sync`, so the launch waits for its variant. `without`: the same launch with \
        `OFFLOOM_JIT=off`. Wall time is that of the launch alone, processor time that of the whole program and of the process that \
        compiles for it, whose start is in both where something is compiled.\n\
        * *look-up alone*: `cargo bench -p offloom-jit-cache`, ten arguments, nanoseconds of the fastest of 101 rounds, with variants \
        looked for in an order without pattern. A device has at most 256 variants of a kernel; more are shown for the table's sake.\n",
    titles: &TITLES,
    end: "",
};
