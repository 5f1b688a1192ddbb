//! What ends a kernel before its time.

use std::fmt;

/// What a kernel did wrong.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum FaultKind {
    /// A load, store or atomic outside of live memory (`CUDA_ERROR_ILLEGAL_ADDRESS`, 700).
    IllegalAddress,
    /// An address that is no multiple of the access's size (`CUDA_ERROR_MISALIGNED_ADDRESS`, 716).
    MisalignedAddress,
    /// A call to what is no function of this program (`CUDA_ERROR_INVALID_PC`, 718).
    InvalidProgramCounter,
    /// `trap` (`CUDA_ERROR_LAUNCH_FAILED` 719 on devices since CUDA 11.5, 4 in `compute-sanitizer`'s words).
    Trap,
    /// The threads' call stack does not fit (`CUDA_ERROR_LAUNCH_FAILED`, 719; 700 on some devices).
    StackOverflow,
    /// An instruction that cannot be executed as it is written (`CUDA_ERROR_ILLEGAL_INSTRUCTION`, 715).
    IllegalInstruction,
    /// The kernel would never end: it took too long, or all its threads wait (`CUDA_ERROR_LAUNCH_TIMEOUT`,
    /// 702).
    Watchdog,
    /// `__assertfail` (`CUDA_ERROR_ASSERT`, 710).
    Assert,
    /// Too many threads, too much shared memory (`CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`, 701). Nothing was
    /// executed.
    TooManyResources,
    /// The grid, a block or the parameters cannot be launched (`CUDA_ERROR_INVALID_VALUE`, 1). Nothing was
    /// executed.
    InvalidLaunch,
    /// A use of bytes that no one has written, where [`Poison::Fault`](crate::Poison::Fault) is asked for
    /// (`CUDA_ERROR_LAUNCH_FAILED`, 719).
    Poison,
}

impl FaultKind {
    /// The error's name in words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::IllegalAddress => "illegal address",
            Self::MisalignedAddress => "misaligned address",
            Self::InvalidProgramCounter => "invalid program counter",
            Self::Trap => "trap",
            Self::StackOverflow => "stack overflow",
            Self::IllegalInstruction => "illegal instruction",
            Self::Watchdog => "the kernel does not end",
            Self::Assert => "assertion failed",
            Self::TooManyResources => "too many resources",
            Self::InvalidLaunch => "invalid launch",
            Self::Poison => "use of uninitialised memory",
        }
    }
}

/// Where in a kernel something happened.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Place {
    /// The kernel.
    pub kernel: String,
    /// The function, which may be the kernel.
    pub function: String,
    /// The PTX file.
    pub file: String,
    /// The line in the PTX file, from 1. 0 where nothing was executed yet.
    pub line: u32,
    /// The instruction's opcode.
    pub opcode: String,
    /// `%ctaid` of the block.
    pub block: [u32; 3],
    /// `%tid` of the thread.
    pub thread: [u32; 3],
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "kernel `{}`", self.kernel)?;
        if self.line == 0 {
            return Ok(());
        }
        if self.function != self.kernel {
            write!(formatter, ", function `{}`", self.function)?;
        }
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(
            formatter,
            ", {}:{} (`{}`), block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})",
            self.file, self.line, self.opcode
        )
    }
}

/// What ended a launch, where, and why. `Display` makes one line of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// Where: the first thread that did it.
    pub place: Box<Place>,
    /// Details: the address, the limit, who waits for what.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.place, self.kind.text(), self.text)
    }
}

impl std::error::Error for Fault {}

/// Something that is no fault of the device's rules, but is wrong with the program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// What it is.
    pub kind: ReportKind,
    /// Where: the first thread that did it. Each instruction is reported once in a launch.
    pub place: Place,
}

/// What a [`Report`] is about.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ReportKind {
    /// A branch, guard or selection of a callee depends on bytes that no one has written.
    PoisonDecision,
    /// An address depends on bytes that no one has written.
    PoisonAddress,
    /// A value of which no bit was ever written goes to global memory.
    PoisonStore,
    /// `exit` in a function that is no kernel ended threads. Compilers write that where they believe that no
    /// thread can come, so the function was compiled from code with undefined behaviour.
    ExitInFunction,
    /// An operation such as `shfl.sync` whose mask names threads that wait at a barrier of the block, so that
    /// they could not come. It was executed without them.
    AbsentMembers,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.kind {
            ReportKind::PoisonDecision => "a decision depends on uninitialised memory or registers",
            ReportKind::PoisonAddress => "an address depends on uninitialised memory or registers",
            ReportKind::PoisonStore => "uninitialised bytes are stored to global memory",
            ReportKind::AbsentMembers => {
                "its mask names threads that wait at a barrier: what a device does then is undefined"
            }
            ReportKind::ExitInFunction => {
                "threads end inside of a function: the compiler took this place for unreachable, \
                 so what it was compiled from has undefined behaviour"
            }
        };
        write!(formatter, "{}: {text}", self.place)
    }
}
