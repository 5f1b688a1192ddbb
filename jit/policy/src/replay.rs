//! Runs a dumped launch by itself: its ahead-of-time code and its variant, in turns, each from the same
//! memory.

use std::time::{Duration, Instant};

use offloom_jit_cache::dump::Comparison;

/// How often each code is run to be timed, at least once.
const RUNS: u32 = 10;
/// After this, no more runs are begun.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a launch runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Code {
    /// The device image's kernel.
    AheadOfTime,
    /// The variant.
    Variant,
}

/// A dumped launch that is ready to be run on its device.
pub trait Replay {
    /// Why it does not go on.
    type Error;

    /// Puts memory as it was at the launch, and runs the code. Returns the nanoseconds that the code took.
    ///
    /// # Errors
    /// What the device says.
    fn run(&mut self, code: Code) -> Result<u64, Self::Error>;

    /// Remembers what memory holds now.
    ///
    /// # Errors
    /// Memory cannot be read.
    fn remember(&mut self) -> Result<(), Self::Error>;

    /// From now on, words that differ from what is remembered are not compared.
    ///
    /// # Errors
    /// Memory cannot be read.
    fn leave_out_what_differs(&mut self) -> Result<(), Self::Error>;

    /// How memory differs from what is remembered.
    ///
    /// # Errors
    /// Memory cannot be read.
    fn differences(&mut self) -> Result<Comparison, Self::Error>;
}

/// Runs both codes, compares what they leave in memory, and times them. `stage` is told what is begun.
///
/// # Errors
/// Those of the replay.
pub fn compare<R: Replay>(replay: &mut R, stage: impl Fn(&str)) -> Result<Comparison, R::Error> {
    let start = Instant::now();
    stage("running the ahead-of-time code");
    let mut ahead_of_time_ns = replay.run(Code::AheadOfTime)?;
    replay.remember()?;
    // What two runs of the same code do not agree on says nothing about the variant.
    ahead_of_time_ns = replay.run(Code::AheadOfTime)?.min(ahead_of_time_ns);
    replay.leave_out_what_differs()?;
    stage("running the variant");
    let mut variant_ns = replay.run(Code::Variant)?;
    let found = replay.differences()?;
    stage("timing both");
    let mut runs = 1;
    while runs < RUNS && start.elapsed() < PATIENCE {
        ahead_of_time_ns = replay.run(Code::AheadOfTime)?.min(ahead_of_time_ns);
        variant_ns = replay.run(Code::Variant)?.min(variant_ns);
        runs += 1;
    }
    Ok(Comparison {
        runs,
        ahead_of_time_ns,
        variant_ns,
        ..found
    })
}
