//! A variant that is loaded for one image copy: its code, and whether it is any faster than the ahead-of-time
//! body.
//!
//! Until that is known, launches with the same key are timed by the backend ([`Trial`]). A variant that
//! is no faster is retired, and its code freed when no launch runs it any more. Once the verdict is known, a
//! launch costs nothing more.

use std::ptr;
use std::sync::{Arc, Mutex};

use offloom_jit_cache::stats;
use offloom_jit_variants::tracker::LaunchKey;
use offloom_jit_variants::trial::Times;
use offloom_jit_variants::trial::{Entered, Trial, Verdict};

use crate::backend::{Backend, Code, Done, LoadFailure};
use crate::history::Copy;
use crate::kernel::Form;
use crate::process::fork_gate;
use crate::process::guard::ForeignThreadGuard;
use crate::process::lock::lock;
use crate::process::queue;
use crate::process::report;

/// In a ticket: the AOT code was run. Variants are aligned to more than this.
const AHEAD_OF_TIME: u64 = 1;

/// What a launch runs.
#[derive(Debug, Clone, Copy)]
pub struct Choice<Entry> {
    /// The code of a variant; `None`: ahead-of-time code.
    pub entry: Option<Entry>,
    /// Not 0: the launch is timed, and its end is told to
    /// [`KernelOnDevice::finished`](crate::kernel_on_device::KernelOnDevice::finished) with this.
    pub ticket: u64,
}

/// A loaded variant. Never freed, but its code may be. What a launch reads comes first, in one line of the
/// processor's cache.
#[repr(C, align(64))]
pub struct Variant<B: Backend> {
    entry: B::Entry,
    trial: Trial,
    /// The launches it is for.
    pub(crate) key: LaunchKey,
    /// How it was made.
    pub(crate) form: Form,
    /// Kernel and image copy, for people.
    label: String,
    /// What holds the code, until it is freed.
    holder: Mutex<Option<B::Loaded>>,
    /// For the statistics, if they are asked for.
    history: Option<Arc<Copy>>,
}

impl<B: Backend> Variant<B> {
    /// Code for launches with this key, made in this form; timed first, if `measure`. `label` names kernel
    /// and image copy.
    pub(crate) fn new(
        label: String,
        (key, form): (LaunchKey, Form),
        code: Code<B>,
        measure: bool,
        history: Option<Arc<Copy>>,
    ) -> Self {
        Self {
            key,
            form,
            label,
            entry: code.entry,
            holder: Mutex::new(Some(code.loaded)),
            trial: Trial::new(measure, B::LONG_LAUNCH),
            history,
        }
    }

    /// What a launch runs; counts it if `COUNT`.
    #[inline]
    pub(crate) fn choose<const COUNT: bool>(&'static self) -> Choice<B::Entry> {
        let choice = self.choose_uncounted();
        if COUNT
            && choice.entry.is_some()
            && let Some(history) = &self.history
        {
            history.count_launch();
        }
        choice
    }

    #[inline]
    fn choose_uncounted(&'static self) -> Choice<B::Entry> {
        if self.trial.is_kept() {
            return Choice {
                entry: Some(self.entry),
                ticket: 0,
            };
        }
        self.choose_and_time()
    }

    #[cold]
    fn choose_and_time(&'static self) -> Choice<B::Entry> {
        let choice = |entry, ticket| Choice { entry, ticket };
        let timed = ptr::from_ref(self) as u64;
        match self.trial.enter() {
            Entered::TimedVariant => choice(Some(self.entry), timed),
            Entered::TimedAheadOfTime => choice(None, timed | AHEAD_OF_TIME),
            Entered::Kept => {
                self.leave();
                choice(Some(self.entry), 0)
            }
            Entered::Retired => {
                self.leave();
                choice(None, 0)
            }
        }
    }

    /// Takes note of what a timed launch took; returns the verdict if this is the launch that brings it.
    fn note(&self, ahead_of_time: bool, nanoseconds: u64) -> Option<Verdict> {
        let verdict = self.trial.note(!ahead_of_time, nanoseconds);
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

    /// Takes note that a launch was timed beside others.
    pub(crate) fn note_disturbance(&self) {
        self.trial.note_disturbance();
    }

    /// What launches of it run.
    pub(crate) const fn entry(&self) -> B::Entry {
        self.entry
    }

    /// Whether it was launched since this was asked before. Launches of a kept variant are not counted.
    pub(crate) fn was_launched(&self) -> bool {
        self.trial.was_launched()
    }

    /// Whether its launches run it for good, without being counted.
    pub(crate) fn is_kept(&self) -> bool {
        self.trial.is_kept()
    }

    /// Whether no launch runs it any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.trial.is_retired()
    }

    /// Gives it up while it is being measured; false if there is a verdict. Its code is freed after the last
    /// launch that runs it.
    pub(crate) fn evict(&'static self) -> bool {
        let evicted = self.trial.abandon();
        if evicted && let Some(history) = &self.history {
            history.note(self.times(), Some(stats::Verdict::Evicted));
        }
        self.leave();
        evicted
    }

    /// Notes that the device has refused to launch it, for this reason.
    pub(crate) fn note_refusal(&self, reason: &str) {
        if let Some(history) = &self.history {
            history.note(self.times(), Some(stats::Verdict::Refused(reason.to_owned())));
        }
    }

    /// Ends a timed launch. After the last one of a retired variant its code is freed.
    pub(crate) fn leave(&'static self) {
        if self.trial.leave() {
            let _guard = ForeignThreadGuard::begin();
            queue::add(|| self.give_back());
        }
    }

    /// Gives the memory of the code back, now that no launch runs it.
    fn give_back(&self) {
        let Some(_change) = fork_gate::enter() else { return };
        let label = self.label.clone();
        let log = move |freed: Result<(), LoadFailure>| {
            report::log(format_args!(
                "{label}: memory of a retired variant: {}",
                freed.map_or_else(|failure| failure.to_string(), |()| "free for others".to_owned())
            ));
        };
        // SAFETY: this is called once no launch runs the code, and none will.
        unsafe { self.free_code(Box::new(log)) };
    }

    /// Frees the code, if that has not been done.
    ///
    /// # Safety
    /// Nothing has been counted at some time since the variant was retired, or its image is gone.
    pub(crate) unsafe fn free_code(&self, done: Done<Result<(), LoadFailure>>) {
        let holder = lock(&self.holder).take();
        match holder {
            // SAFETY: as the caller promises, no launch runs the code; none will, since all that count
            // themselves from now on see the verdict.
            Some(loaded) => unsafe { B::unload(loaded, done) },
            None => done(Ok(())),
        }
    }

    /// The fastest timed launches so far; `u64::MAX` where there is none.
    pub(crate) fn times(&self) -> Times {
        self.trial.times()
    }
}

/// The variant that a ticket is from.
///
/// # Safety
/// `ticket` is from [`Variant::choose`], of the same backend.
pub(crate) unsafe fn of_ticket<B: Backend>(ticket: u64) -> &'static Variant<B> {
    // SAFETY: variants are never freed.
    unsafe { &*((ticket & !AHEAD_OF_TIME) as *const Variant<B>) }
}

/// Takes note of what a timed launch took; returns the verdict if this launch brings it.
pub(crate) fn note<B: Backend>(variant: &Variant<B>, ticket: u64, nanoseconds: u64) -> Option<Verdict> {
    variant.note(ticket & AHEAD_OF_TIME != 0, nanoseconds)
}
