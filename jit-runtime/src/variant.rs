//! A variant that is linked for one image copy: its code, and whether it is any faster than the ahead-of-time body.
//!
//! Until that is known, some launches are timed inside the stub, alternately of the variant and of the ahead-of-time body, on
//! launches with the same key. A variant that is no faster is retired. Once it is known, a launch costs nothing more.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use offloom_abi::jit_image::Choice;
use offloom_jit_cache::stats;
use offloom_jit_cache::tracker::LaunchKey;

use crate::stats::Copy;

/// Launches of each kind that are timed at most.
const SAMPLES: u32 = 8;
/// From this many on, a clear difference decides.
const SAMPLES_FOR_A_CLEAR_CASE: u32 = 3;
/// What makes a difference clear: this share of the other's time.
const CLEAR: (u64, u64) = (9, 10);

/// In a ticket: the ahead-of-time body was run. Variants are aligned to more than this.
const AHEAD_OF_TIME: u64 = 1;

thread_local! {
    /// When the launch that is timed on this thread began. Needs no destructor, so it can be used to the thread's very end.
    static STARTED: Cell<u64> = const { Cell::new(0) };
}

/// How the measurement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Verdict {
    /// Launches are being timed.
    Measuring = 0,
    /// The variant is faster and stays.
    Keep = 1,
    /// It is not.
    Retire = 2,
}

/// A linked variant. Never freed while a launch may run it.
#[derive(Debug)]
#[repr(align(16))]
pub(crate) struct Variant {
    /// The launches it is for.
    pub(crate) key: LaunchKey,
    code: *const c_void,
    verdict: AtomicU8,
    turn: AtomicU32,
    own: Times,
    ahead_of_time: Times,
    /// For the statistics, if they are asked for.
    history: Option<Arc<Copy>>,
}

// SAFETY: the code is only run, and is right for launches on any thread.
unsafe impl Send for Variant {}
// SAFETY: as above.
unsafe impl Sync for Variant {}

/// The fastest of some launches.
#[derive(Debug)]
struct Times {
    count: AtomicU32,
    nanoseconds: AtomicU64,
}

impl Times {
    const fn none() -> Self {
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

impl Variant {
    /// Code at this address for launches with this key; timed first, if `measure`.
    pub(crate) const fn new(
        key: LaunchKey,
        code: *const c_void,
        measure: bool,
        history: Option<Arc<Copy>>,
    ) -> Self {
        let verdict = if measure {
            Verdict::Measuring
        } else {
            Verdict::Keep
        };
        Self {
            key,
            code,
            verdict: AtomicU8::new(verdict as u8),
            turn: AtomicU32::new(0),
            own: Times::none(),
            ahead_of_time: Times::none(),
            history,
        }
    }

    /// What a launch runs; counts it if `COUNT`.
    #[inline]
    pub(crate) fn choose<const COUNT: bool>(&self) -> Choice {
        let choice = self.choose_uncounted();
        if COUNT
            && !choice.code.is_null()
            && let Some(history) = &self.history
        {
            history.count_launch();
        }
        choice
    }

    #[inline]
    fn choose_uncounted(&self) -> Choice {
        if self.verdict.load(Ordering::Relaxed) == Verdict::Keep as u8 {
            return Choice {
                code: self.code,
                ticket: 0,
            };
        }
        self.choose_and_time()
    }

    #[cold]
    fn choose_and_time(&self) -> Choice {
        let ticket = ptr::from_ref(self) as u64;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let started = now();
        STARTED.set(started);
        if turn.is_multiple_of(2) {
            Choice {
                code: self.code,
                ticket,
            }
        } else {
            Choice {
                code: ptr::null(),
                ticket: ticket | AHEAD_OF_TIME,
            }
        }
    }

    /// Takes note of a timed launch on this thread; returns the verdict if this is the launch that brings it.
    fn finish(&self, ahead_of_time: bool) -> Option<Verdict> {
        let nanoseconds = now().saturating_sub(STARTED.get());
        let times = if ahead_of_time {
            &self.ahead_of_time
        } else {
            &self.own
        };
        times.add(nanoseconds);
        let verdict = self.judge();
        let changed = verdict != Verdict::Measuring
            && self
                .verdict
                .compare_exchange(
                    Verdict::Measuring as u8,
                    verdict as u8,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok();
        if let Some(history) = &self.history {
            let (own, ahead_of_time) = self.times();
            let verdict = match verdict {
                Verdict::Keep => Some(stats::Verdict::Kept),
                Verdict::Retire => Some(stats::Verdict::Retired),
                Verdict::Measuring => None,
            };
            history.note(own, ahead_of_time, verdict.filter(|_| changed));
        }
        changed.then_some(verdict)
    }

    fn judge(&self) -> Verdict {
        let samples = self
            .own
            .count
            .load(Ordering::Acquire)
            .min(self.ahead_of_time.count.load(Ordering::Acquire));
        let own = self.own.nanoseconds.load(Ordering::Relaxed);
        let other = self.ahead_of_time.nanoseconds.load(Ordering::Relaxed);
        let clearly_below =
            |one: u64, other: u64| one.saturating_mul(CLEAR.1) < other.saturating_mul(CLEAR.0);
        if samples < SAMPLES_FOR_A_CLEAR_CASE {
            Verdict::Measuring
        } else if clearly_below(own, other) {
            Verdict::Keep
        } else if clearly_below(other, own) {
            Verdict::Retire
        } else if samples < SAMPLES {
            Verdict::Measuring
        } else if own <= other {
            Verdict::Keep
        } else {
            Verdict::Retire
        }
    }

    /// The fastest timed launches, in nanoseconds: the variant's and the ahead-of-time body's.
    pub(crate) fn times(&self) -> (u64, u64) {
        (
            self.own.nanoseconds.load(Ordering::Relaxed),
            self.ahead_of_time.nanoseconds.load(Ordering::Relaxed),
        )
    }
}

/// Takes note of the end of a timed launch on this thread; returns the variant with its verdict if this launch brings it.
///
/// # Safety
/// `ticket` is from [`Variant::choose`] of a variant that has not been freed, on this thread, and no other launch has been timed on
/// it since.
pub(crate) unsafe fn finish(ticket: u64) -> Option<(&'static Variant, Verdict)> {
    // SAFETY: as the caller promises.
    let variant = unsafe { &*((ticket & !AHEAD_OF_TIME) as *const Variant) };
    let verdict = variant.finish(ticket & AHEAD_OF_TIME != 0)?;
    Some((variant, verdict))
}

/// Nanoseconds of a clock that does not go backwards.
fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the record is ours to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
