//! What `docs/results/launch.md` says besides figures.

use crate::figures_document::FiguresDocument;

/// Launches about which everything has been decided.
pub(super) const LAUNCHES: &str = "launches of a tiny kernel";
/// The same, by a driver that executes kernels on the processor.
pub(super) const ON_A_GPU: &str = "launches on a virtual GPU";
/// Programs that do hardly more than start.
pub(super) const START: &str = "start of a program";
/// First launches of kernels.
pub(super) const FIRST_COMPILE: &str = "first launch of a kernel";
/// The same on a GPU.
pub(super) const FIRST_ON_A_GPU: &str = "first launch on a virtual GPU";
/// The table of variants by itself.
pub(super) const LOOK_UP: &str = "look-up alone";
/// Launches beside which something else is done for the kernel.
pub(super) const SLOWEST: &str = "slowest launches of a tiny kernel";

/// Programs with many variants beside a remote store.
pub(super) const REMOTE_STORE: &str = "remote store";

/// A program whose threads have all processors.
pub(super) const BUSY: &str = "all processors busy";

/// What is measured, in the order of the document.
pub(super) const TITLES: [&str; 9] = [
    LAUNCHES,
    ON_A_GPU,
    START,
    FIRST_COMPILE,
    FIRST_ON_A_GPU,
    LOOK_UP,
    REMOTE_STORE,
    SLOWEST,
    BUSY,
];

/// The page.
pub(super) const DOCUMENT: FiguresDocument = FiguresDocument {
    name: "launch",
    introduction: "# What the JIT costs, measured\n\n\
        Written by `cargo xtask bench-launch`. Programs with and without the JIT run in turn within each repetition. `without` and `with` are \
        medians; the difference or ratio is the median of those of the repetitions, with its 95% bootstrap confidence interval. A goal is \
        met if the whole interval is on its good side, and open if the goal is inside.\n\n\
        * *launches of a tiny kernel*: one process loads the same kernel from three libraries, of which one is linked with `--jit`, and \
        launches blocks of 250 from each by turns, in a changing order. Time is processor time of the launching thread; the launches \
        are divided among the threads. The difference is that between the library with the JIT and the mean of the two without, the \
        median over the blocks of a process, and then over processes, in which each library is the first to be loaded as often. \
        `control` compares the two without the JIT in the same blocks: it shows what a difference of nothing looks like. All launches \
        have been made before. All scalars, and the alignment of the pointer, are in the key of a launch, and the variants' code has \
        nothing to gain. The stub recognises the launches that a kernel settled first by comparing them with those alone, and others by \
        a hash. Variants in turns are also 256 pieces of code. \
        The rows with a goal hit a variant that is kept; the others are what else a launch may meet. The sum of all blocks is \
        what all launches took; start and first launches are measured by themselves, below.\n\
        * *launches on a virtual GPU*: the same kernels for an NVIDIA GPU, on a virtual one that executes nothing, from one library, which is \
        linked with `--jit`. `without`: a process with `OFFLOOM_JIT=off`, the mean of one before and one after, which `control` compares. So \
        this is what the JIT adds on the host, beside libomptarget and a driver that only checks, and says nothing of a real GPU or its driver. \
        Variants in turns are also 256 functions for that driver.\n\
        * *start of a program*: from before it is started to after its end; processor time is that of the program with all its threads. \
        `without`: linked without `--jit`. The cache holds 10,000 images.\n\
        * *first launch of a kernel*: `OFFLOOM_JIT=sync`, so the launch waits for its variant. `without`: the same launch with \
        `OFFLOOM_JIT=off`. Wall time is that of the launch alone, and has the goals; processor time is that of the whole program and of \
        the process that compiles for it. What is compiled is compiled in a program for whose launches nothing was compiled before, or \
        was in its last run: that process is started with the program, so its start is in the processor time, and in the wall time what \
        is left of it.\n\
        * *first launch on a virtual GPU*: the same there, where kernels are executed by the processor, in both columns. Of a GPU's own times \
        nothing is in it: it is compiling, `ptxas`, the cache, and a made-up driver's loading. Processor time is also that of `ptxas`, and \
        of writing the statistics.\n\
        * *look-up alone*: `cargo bench -p offloom-jit-variants`, ten arguments, nanoseconds of the fastest of 101 rounds, with variants \
        looked for in an order without pattern. A device has at most 256 variants of a kernel; more are shown for the table's sake.\n\
        * *remote store*: `OFFLOOM_JIT=sync`, so each first launch waits for its variant, and `OFFLOOM_JIT_REMOTE_DEADLINE` as it is by \
        default. 500 variants: ten of each of 50 kernels. `without`: the variants are in the private folder; `with`: that is empty, and they are in \
        a Redis server on this machine. Stores that are out of order: both start with an empty folder; `without`: no store.\n\
        * *slowest launches of a tiny kernel*: 99.9% of launches took less, the very first included. `without`: the same program with \
        `OFFLOOM_JIT=off`. A warm cache is one on disk that an earlier run has filled.\n\
        * *all processors busy*: eight kernels with a hundred barriers in each launch, on as many threads as there are processors, 800 \
        launches of each with 16 scalars, `OFFLOOM_JIT=async`. What a compile takes from one thread, all others wait for. `without`: \
        linked without `--jit`, the mean of a run before and a run after.\n",
    titles: &TITLES,
    end: "",
};
