//! A variant on trial: launches run it or the AOT code in turns and are timed, until it is
//! known which is faster.
//!
//! One that is no faster is retired, and its code freed. So launches are counted while they are timed: the
//! last one of a retired variant says that the code may go. A launch of what is kept counts nothing.

mod judgement;
#[cfg(all(test, feature = "loom"))]
mod orders;

use crate::atomics::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

pub use judgement::{Difference, Verdict, clear_difference};

use judgement::{is_turn_of_variant, verdict};

/// The fastest timed launches, in nanoseconds: what the cache remembers of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Of the image.
    pub variant: u64,
    /// Of the ahead-of-time code, with the same descriptor.
    pub ahead_of_time: u64,
}

/// Whether a variant is of use, and how many launches may be running it.
#[derive(Debug)]
pub struct Trial {
    /// Launches from so many nanoseconds on are long.
    long: u64,
    /// 1: launches were timed beside others, which makes them longer by what those took.
    disturbed: AtomicU8,
    /// Launches that entered and did not leave.
    running: AtomicUsize,
    verdict: AtomicU8,
    turn: AtomicU32,
    /// `turn` when it was last asked whether the variant is used.
    turn_looked_at: AtomicU32,
    variant: Fastest,
    ahead_of_time: Fastest,
}

/// What a launch that entered runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// The variant, and it is timed.
    TimedVariant,
    /// The AOT code, and it is timed.
    TimedAheadOfTime,
    /// The variant, once it has left: it is kept.
    Kept,
    /// The AOT code: the variant is retired.
    Retired,
}

/// The fastest of some launches.
#[derive(Debug)]
struct Fastest {
    count: AtomicU32,
    nanoseconds: AtomicU64,
}

impl Trial {
    /// With launches to be timed if `measure`; otherwise the variant is kept. Of launches from `long`
    /// nanoseconds on fewer are timed.
    pub fn new(measure: bool, long: u64) -> Self {
        let verdict = if measure {
            Verdict::Measuring
        } else {
            Verdict::Keep
        };
        Self {
            long,
            disturbed: AtomicU8::new(0),
            running: AtomicUsize::new(0),
            verdict: AtomicU8::new(verdict as u8),
            turn: AtomicU32::new(0),
            turn_looked_at: AtomicU32::new(0),
            variant: Fastest::none(),
            ahead_of_time: Fastest::none(),
        }
    }

    /// Whether launches run the variant, without being counted. It stays so.
    #[inline]
    pub fn is_kept(&self) -> bool {
        self.verdict.load(Ordering::Relaxed) == Verdict::Keep as u8
    }

    /// Whether no launch that enters from now on runs it.
    pub fn is_retired(&self) -> bool {
        self.verdict.load(Ordering::SeqCst) == Verdict::Retire as u8
    }

    /// Counts a launch. [`Self::leave`] follows in any case: after the launch, or at once where it is not
    /// timed.
    pub fn enter(&self) -> Entered {
        // Counted before the verdict is read, which is written before the count is read: either this launch
        // sees that the variant is retired, or whoever leaves last sees this launch.
        self.running.fetch_add(1, Ordering::SeqCst);
        let verdict = self.verdict.load(Ordering::SeqCst);
        if verdict == Verdict::Keep as u8 {
            Entered::Kept
        } else if verdict == Verdict::Retire as u8 {
            Entered::Retired
        } else if is_turn_of_variant(self.turn.fetch_add(1, Ordering::Relaxed)) {
            Entered::TimedVariant
        } else {
            Entered::TimedAheadOfTime
        }
    }

    /// Takes note that a launch was timed while others of the program were under way on the device: long ones
    /// need as many samples as others from now on.
    pub fn note_disturbance(&self) {
        self.disturbed.store(1, Ordering::Relaxed);
    }

    /// Takes note of what a timed launch took, in nanoseconds; returns the verdict if this launch brings it.
    pub fn note(&self, of_variant: bool, nanoseconds: u64) -> Option<Verdict> {
        let fastest = if of_variant {
            &self.variant
        } else {
            &self.ahead_of_time
        };
        fastest.add(nanoseconds);
        let verdict = self.judge();
        (verdict != Verdict::Measuring && self.decide(verdict)).then_some(verdict)
    }

    /// Retires it while launches are still timed; false if there is a verdict. [`Self::leave`] follows in any
    /// case, as if this were a launch: so somebody is the last to leave.
    pub fn abandon(&self) -> bool {
        self.running.fetch_add(1, Ordering::SeqCst);
        self.decide(Verdict::Retire)
    }

    /// Ends what [`Self::enter`] or [`Self::abandon`] began. True: it is retired, and no launch runs its
    /// code, nor will any. Several may be told so.
    #[must_use]
    pub fn leave(&self) -> bool {
        self.running.fetch_sub(1, Ordering::SeqCst);
        // Whoever is counted after the verdict sees it and runs no code; so once nobody is counted, nobody
        // runs it or will.
        self.is_retired() && self.running.load(Ordering::SeqCst) == 0
    }

    /// Whether a launch was timed since this was asked before.
    pub fn was_launched(&self) -> bool {
        let turn = self.turn.load(Ordering::Relaxed);
        self.turn_looked_at.swap(turn, Ordering::Relaxed) != turn
    }

    /// The fastest timed launches so far; `u64::MAX` where there is none.
    pub fn times(&self) -> Times {
        Times {
            variant: self.variant.nanoseconds.load(Ordering::Relaxed),
            ahead_of_time: self.ahead_of_time.nanoseconds.load(Ordering::Relaxed),
        }
    }

    fn judge(&self) -> Verdict {
        // Read before the times, of which there are then at least as many.
        let samples = self
            .variant
            .count
            .load(Ordering::Acquire)
            .min(self.ahead_of_time.count.load(Ordering::Acquire));
        let long = match self.disturbed.load(Ordering::Relaxed) {
            0 => self.long,
            _ => u64::MAX,
        };
        verdict(samples, self.times(), long)
    }

    /// The first verdict counts.
    fn decide(&self, verdict: Verdict) -> bool {
        self.verdict
            .compare_exchange(
                Verdict::Measuring as u8,
                verdict as u8,
                Ordering::SeqCst,
                Ordering::Relaxed,
            )
            .is_ok()
    }
}

impl Fastest {
    fn none() -> Self {
        Self {
            count: AtomicU32::new(0),
            nanoseconds: AtomicU64::new(u64::MAX),
        }
    }

    fn add(&self, nanoseconds: u64) {
        self.nanoseconds.fetch_min(nanoseconds, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Release);
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn long_launches_beside_others_are_timed_as_often_as_short_ones() {
        let judged_after = |is_disturbed: bool| {
            let trial = Trial::new(true, 100);
            for pairs in 1.. {
                if is_disturbed {
                    trial.note_disturbance();
                }
                if trial
                    .note(true, 1000)
                    .or_else(|| trial.note(false, 5000))
                    .is_some()
                {
                    assert!(trial.is_kept());
                    return pairs;
                }
            }
            unreachable!("there is a verdict in the end")
        };
        assert_eq!(judged_after(false), 1);
        assert_eq!(judged_after(true), 3);
    }
}
