//! What was made for each kernel, and how many launches had run what by then, noted while statistics are
//! asked for.
//!
//! Nothing is noted when they are not, and a launch pays for nothing. When they are, it pays for counting.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use offloom_abi::jit_compile;
use offloom_jit_cache::stats::{Linked, OnGpu, Origin, Phases, Progress, Variant, Verdict};
use offloom_jit_variants::trial::Times;

use crate::process::lock::lock;
use crate::process::settings::settings;

/// The most times at which the launches of a kernel are kept.
const MOST_TIMES: usize = 256;

/// What was made for one kernel, in order, and its launches.
#[derive(Debug, Default)]
pub struct History {
    made: Mutex<Vec<Made>>,
    launches: Mutex<LaunchHistory>,
}

/// Launches of one kernel through one slot; only counted when someone wants to know.
#[derive(Debug, Default)]
pub struct Launches {
    of_variants: AtomicU64,
    ahead_of_time: AtomicU64,
}

/// Launches of one kernel.
#[derive(Debug, Default)]
struct LaunchHistory {
    /// Through slots of image copies that are there.
    slots: Vec<&'static Launches>,
    /// Through slots of image copies that are gone.
    earlier: Progress,
    progress: Vec<Progress>,
}

#[derive(Debug)]
struct Made {
    variant: Variant,
    copies: Vec<Arc<Copy>>,
}

/// One variant on one image copy, while it is used and after it was given back.
#[derive(Debug)]
pub struct Copy {
    launches: AtomicU64,
    linked: Mutex<Linked>,
}

impl History {
    /// Notes that an object was made for a descriptor, or that it was not.
    pub fn add(&self, descriptor: &str, origin: Origin, bytes: usize, phases: Option<jit_compile::Phases>) {
        if settings().stats.is_none() {
            return;
        }
        let phases = phases.map(|phases| Phases {
            parse_us: phases.parse,
            specialize_us: phases.specialize,
            optimize_us: phases.optimize,
            generate_us: phases.generate,
            assemble_us: phases.assemble,
        });
        lock(&self.made).push(Made {
            variant: Variant {
                descriptor: descriptor.to_owned(),
                origin,
                bytes: bytes as u64,
                phases,
                made_us: Some(now_us()),
                copies: Vec::new(),
            },
            copies: Vec::new(),
        });
        self.note_launches();
    }

    /// Notes that an object was linked into an image copy, or that it was not; what is returned counts its
    /// launches. `times`: what the cache remembers of earlier ones.
    pub fn add_copy(
        &self,
        descriptor: impl FnOnce() -> String,
        image_copy: u32,
        link_time: Duration,
        verdict: Verdict,
        times: Option<Times>,
        on_gpu: Option<OnGpu>,
    ) -> Option<Arc<Copy>> {
        settings().stats.as_ref()?;
        let linked_us = Some(now_us());
        let copy = Arc::new(Copy {
            launches: AtomicU64::new(0),
            linked: Mutex::new(Linked {
                image_copy,
                link_us: u64::try_from(link_time.as_micros()).unwrap_or(u64::MAX),
                launches: 0,
                // Retired from the start: the cache remembers its times.
                verdict_us: linked_us.filter(|_| verdict == Verdict::Retired),
                verdict,
                linked_us,
                variant_ns: times.map(|times| times.variant),
                ahead_of_time_ns: times.map(|times| times.ahead_of_time),
                on_gpu,
            }),
        });
        self.note_launches();
        let descriptor = descriptor();
        let mut made = lock(&self.made);
        // The last: a descriptor may be made again after its variant was given back.
        let made = made
            .iter_mut()
            .rev()
            .find(|made| made.variant.descriptor == descriptor)?;
        made.copies.push(Arc::clone(&copy));
        Some(copy)
    }

    /// Takes note of a slot for the kernel, before it is launched through it.
    pub fn add_slot(&self, launches: &'static Launches) {
        if settings().stats.is_some() {
            lock(&self.launches).slots.push(launches);
        }
    }

    /// Forgets a slot whose launches are over: nothing here leads to it any more.
    pub fn remove_slot(&self, launches: &Launches) {
        lock(&self.launches).remove(launches);
    }

    /// Notes how many launches there were so far: something became of a variant.
    pub fn note_launches(&self) {
        if settings().stats.is_some() {
            lock(&self.launches).note(now_us);
        }
    }

    /// Launches until each time that was noted, and until now.
    pub fn progress(&self) -> (Vec<Progress>, Progress) {
        let launches = lock(&self.launches);
        (launches.progress.clone(), launches.until(now_us()))
    }

    /// Everything that was made so far.
    pub fn variants(&self) -> Vec<Variant> {
        let made = lock(&self.made);
        let variants = made.iter().map(|made| Variant {
            copies: made.copies.iter().map(|copy| copy.now()).collect(),
            ..made.variant.clone()
        });
        variants.collect()
    }
}

impl LaunchHistory {
    fn remove(&mut self, slot: &Launches) {
        let count = self.slots.len();
        self.slots.retain(|other| !ptr::eq(*other, slot));
        if self.slots.len() < count {
            slot.add_to(&mut self.earlier);
        }
    }

    /// With the lock held: later entries have later times and no fewer launches.
    fn note(&mut self, now_us: impl FnOnce() -> u64) {
        if self.progress.len() >= MOST_TIMES {
            let mut keep = true;
            self.progress.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.progress.push(self.until(now_us()));
    }

    fn until(&self, at_us: u64) -> Progress {
        let mut progress = Progress {
            at_us,
            ..self.earlier
        };
        for slot in &self.slots {
            slot.add_to(&mut progress);
        }
        progress
    }
}

impl Launches {
    /// Counts a launch.
    #[inline]
    pub fn count(&self, ahead_of_time: bool) {
        let counter = if ahead_of_time {
            &self.ahead_of_time
        } else {
            &self.of_variants
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Launches that ran a variant.
    pub fn of_variants(&self) -> u64 {
        self.of_variants.load(Ordering::Relaxed)
    }

    fn add_to(&self, sum: &mut Progress) {
        sum.launches_ahead_of_time += self.ahead_of_time.load(Ordering::Relaxed);
        sum.launches_of_variants += self.of_variants();
    }
}

impl Copy {
    /// Counts a launch.
    pub fn count_launch(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes the fastest timed launches so far, in nanoseconds (`u64::MAX`: none), and what follows from
    /// them.
    pub fn note(&self, times: Times, verdict: Option<Verdict>) {
        let mut linked = lock(&self.linked);
        let timed = |nanoseconds: u64| Some(nanoseconds).filter(|nanoseconds| *nanoseconds != u64::MAX);
        linked.variant_ns = timed(times.variant);
        linked.ahead_of_time_ns = timed(times.ahead_of_time);
        // Launches that were timed before it was refused may end later.
        if let Some(verdict) = verdict.filter(|_| !matches!(linked.verdict, Verdict::Refused(_))) {
            linked.verdict_us = Some(now_us());
            linked.verdict = verdict;
        }
    }

    fn now(&self) -> Linked {
        let linked = lock(&self.linked);
        Linked {
            launches: self.launches.load(Ordering::Relaxed),
            ..linked.clone()
        }
    }
}

/// Microseconds since this was asked for first, which is when the process began to use the JIT.
pub fn now_us() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_a_slot_that_is_gone_are_counted_once() {
        let slots: &'static [Launches; 2] = Box::leak(Box::default());
        let mut history = LaunchHistory {
            slots: slots.iter().collect(),
            ..LaunchHistory::default()
        };
        slots[0].count(true);
        slots[1].count(false);
        let before = history.until(7);
        assert_eq!(
            (before.launches_ahead_of_time, before.launches_of_variants),
            (1, 1)
        );
        for _ in 0..2 {
            history.remove(&slots[1]);
            assert_eq!(history.until(7), before);
        }
    }

    #[test]
    fn few_times_are_kept_of_many_and_they_stay_in_order() {
        let slot: &'static Launches = Box::leak(Box::default());
        let mut history = LaunchHistory {
            slots: vec![slot],
            ..LaunchHistory::default()
        };
        for time in 0..10 * MOST_TIMES as u64 {
            slot.count(false);
            history.note(|| time);
            assert!(history.progress.len() <= MOST_TIMES);
            let last = history.progress.last().unwrap();
            assert_eq!((last.at_us, last.launches_of_variants), (time, time + 1));
        }
        assert!(history.progress.len() >= MOST_TIMES / 2);
        assert!(history.progress.is_sorted_by(|one, next| one.at_us < next.at_us));
    }
}
