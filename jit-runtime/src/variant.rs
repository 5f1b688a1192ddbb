//! A variant that is linked for one image copy: its code, and whether it is any faster than the ahead-of-time body.
//!
//! Until that is known, launches with the same key are timed inside the stub ([`Probation`]). A variant that is no faster is retired, and
//! its code freed when no launch runs it any more. Once the verdict is known, a launch costs nothing more.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex};

use offloom_abi::jit_image::Choice;
use offloom_ir::orc::{Dylib, OrcError};
use offloom_jit_cache::probation::{Entered, Probation, Verdict};
use offloom_jit_cache::stats;
use offloom_jit_cache::store::Times;
use offloom_jit_cache::tracker::LaunchKey;

use crate::exit_gate;
use crate::fork_gate;
use crate::guard::Interlude;
use crate::history::Copy;
use crate::lock::lock;
use crate::queue;
use crate::report;

/// In a ticket: the ahead-of-time body was run. Variants are aligned to more than this.
const AHEAD_OF_TIME: u64 = 1;

thread_local! {
    /// When the launch that is timed on this thread began; 0 if none is. Needs no destructor, so it can be used to the thread's very end.
    static STARTED: Cell<u64> = const { Cell::new(0) };
}

/// Code linked against an image copy.
pub(crate) struct LinkedCode {
    /// Where it begins.
    pub(crate) address: *const c_void,
    /// What holds it.
    pub(crate) dylib: Dylib<'static>,
}

/// A linked variant. Never freed, but its code may be. What a launch reads comes first, in one line of the processor's cache.
#[repr(C, align(64))]
pub(crate) struct Variant {
    code: *const c_void,
    probation: Probation,
    /// The launches it is for.
    pub(crate) key: LaunchKey,
    /// Kernel and image copy, for people.
    label: String,
    /// What holds the code, until it is freed.
    holder: Mutex<Option<Dylib<'static>>>,
    /// For the statistics, if they are asked for.
    history: Option<Arc<Copy>>,
}

// SAFETY: the code is only run, and is right for launches on any thread.
unsafe impl Send for Variant {}
// SAFETY: as above.
unsafe impl Sync for Variant {}

impl Variant {
    /// Code for launches with this key; timed first, if `measure`. `label` names kernel and image copy.
    pub(crate) fn new(
        label: String,
        key: LaunchKey,
        code: LinkedCode,
        measure: bool,
        history: Option<Arc<Copy>>,
    ) -> Self {
        Self {
            key,
            label,
            code: code.address,
            holder: Mutex::new(Some(code.dylib)),
            probation: Probation::new(measure),
            history,
        }
    }

    /// What a launch runs; counts it if `COUNT`.
    #[inline]
    pub(crate) fn choose<const COUNT: bool>(&'static self) -> Choice {
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
    fn choose_uncounted(&'static self) -> Choice {
        if self.probation.is_kept() {
            return Choice {
                code: self.code,
                ticket: 0,
            };
        }
        self.choose_and_time()
    }

    #[cold]
    fn choose_and_time(&'static self) -> Choice {
        let choice = |code, ticket| Choice { code, ticket };
        let timed = ptr::from_ref(self) as u64;
        match self.probation.enter() {
            Entered::TimedVariant => {
                STARTED.set(now());
                choice(self.code, timed)
            }
            Entered::TimedAheadOfTime => {
                STARTED.set(now());
                choice(ptr::null(), timed | AHEAD_OF_TIME)
            }
            Entered::Kept => {
                self.leave();
                choice(self.code, 0)
            }
            Entered::Retired => {
                self.leave();
                choice(ptr::null(), 0)
            }
        }
    }

    /// Takes note of a timed launch on this thread; returns the verdict if this is the launch that brings it. One in which another was timed,
    /// by a task that this thread took up, says nothing.
    fn finish(&self, ahead_of_time: bool) -> Option<Verdict> {
        let started = STARTED.replace(0);
        if started == 0 {
            return None;
        }
        let nanoseconds = now().saturating_sub(started);
        let verdict = self.probation.note(!ahead_of_time, nanoseconds);
        if let Some(history) = &self.history {
            let verdict = match verdict {
                Some(Verdict::Keep) => Some(stats::Verdict::Kept),
                Some(Verdict::Retire) => Some(stats::Verdict::Retired),
                Some(Verdict::Measuring) | None => None,
            };
            history.note(self.times(), verdict);
        }
        verdict
    }

    /// Where its code begins.
    pub(crate) const fn code(&self) -> *const c_void {
        self.code
    }

    /// Whether it was launched since this was asked before. Launches of a kept variant are not counted.
    pub(crate) fn was_launched(&self) -> bool {
        self.probation.was_launched()
    }

    /// Whether its launches run it for good, without being counted.
    pub(crate) fn is_kept(&self) -> bool {
        self.probation.is_kept()
    }

    /// Whether no launch runs it any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.probation.is_retired()
    }

    /// Gives it up while it is being measured; false if there is a verdict. Its code is freed after the last launch that runs it.
    pub(crate) fn evict(&'static self) -> bool {
        let evicted = self.probation.give_up();
        if evicted && let Some(history) = &self.history {
            history.note(self.times(), Some(stats::Verdict::Evicted));
        }
        self.leave();
        evicted
    }

    /// Ends a timed launch. After the last one of a retired variant its code is freed.
    pub(crate) fn leave(&'static self) {
        if self.probation.leave() {
            let _interlude = Interlude::begin();
            queue::add(|| self.give_back());
        }
    }

    /// Gives the memory of the code back, now that no launch runs it.
    fn give_back(&self) {
        let Some(_change) = fork_gate::enter() else { return };
        let _undivided = fork_gate::enter_undivided();
        let Some(_work) = exit_gate::enter() else { return };
        // SAFETY: this is called once no launch runs the code, and none will.
        let freed = unsafe { self.free_code() };
        report::log(format_args!(
            "{}: memory of a retired variant: {}",
            self.label,
            freed.map_or_else(|error| error.to_string(), |()| "given back".to_owned())
        ));
    }

    /// Frees the code, if that has not been done.
    ///
    /// # Safety
    /// Nothing has been counted at some time since the variant was retired.
    ///
    /// # Errors
    /// What ORC says.
    pub(crate) unsafe fn free_code(&self) -> Result<(), OrcError> {
        let holder = lock(&self.holder).take();
        // SAFETY: as the caller promises, no launch runs the code; none will, since all that count themselves from now on see
        // the verdict.
        holder.map_or(Ok(()), |dylib| unsafe { dylib.remove() })
    }

    /// The fastest timed launches so far; `u64::MAX` where there is none.
    pub(crate) fn times(&self) -> Times {
        self.probation.times()
    }
}

/// The variant that a ticket is from.
///
/// # Safety
/// `ticket` is from [`Variant::choose`].
pub(crate) unsafe fn of_ticket(ticket: u64) -> &'static Variant {
    // SAFETY: variants are never freed.
    unsafe { &*((ticket & !AHEAD_OF_TIME) as *const Variant) }
}

/// Takes note of the end of a timed launch on this thread; returns the verdict if this launch brings it.
pub(crate) fn finish(variant: &Variant, ticket: u64) -> Option<Verdict> {
    variant.finish(ticket & AHEAD_OF_TIME != 0)
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
