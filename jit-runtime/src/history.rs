//! What was made for each kernel, noted while statistics are asked for.
//!
//! Nothing is noted when they are not, and a launch pays for nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use offloom_abi::jit_compile;
use offloom_jit_cache::stats::{Linked, Origin, Phases, Variant, Verdict};
use offloom_jit_cache::store::Times;

use crate::lock::lock;
use crate::settings::settings;

/// What was made for one kernel, in order.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Vec<Made>>);

#[derive(Debug)]
struct Made {
    variant: Variant,
    copies: Vec<Arc<Copy>>,
}

/// One variant on one image copy, while it is used and after it was given back.
#[derive(Debug)]
pub(crate) struct Copy {
    launches: AtomicU64,
    linked: Mutex<Linked>,
}

impl History {
    /// Notes that an object was made for a descriptor, or that it was not.
    pub(crate) fn add(
        &self,
        descriptor: &str,
        origin: Origin,
        bytes: usize,
        phases: Option<jit_compile::Phases>,
    ) {
        if settings().stats.is_none() {
            return;
        }
        let phases = phases.map(|phases| Phases {
            parse_us: phases.parse,
            specialize_us: phases.specialize,
            optimize_us: phases.optimize,
            generate_us: phases.generate,
        });
        lock(&self.0).push(Made {
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
    }

    /// Notes that an object was linked into an image copy, or that it was not; what is returned counts its launches. `times`: what the
    /// cache remembers of earlier ones.
    pub(crate) fn add_copy(
        &self,
        descriptor: impl FnOnce() -> String,
        image_copy: u32,
        link_time: Duration,
        verdict: Verdict,
        times: Option<Times>,
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
            }),
        });
        let descriptor = descriptor();
        let mut made = lock(&self.0);
        // The last: a descriptor may be made again after its variant was given back.
        let made = made
            .iter_mut()
            .rev()
            .find(|made| made.variant.descriptor == descriptor)?;
        made.copies.push(Arc::clone(&copy));
        Some(copy)
    }

    /// Everything so far.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        let made = lock(&self.0);
        let variants = made.iter().map(|made| Variant {
            copies: made.copies.iter().map(|copy| copy.now()).collect(),
            ..made.variant.clone()
        });
        variants.collect()
    }
}

impl Copy {
    /// Counts a launch.
    pub(crate) fn count_launch(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes the fastest timed launches so far, in nanoseconds (`u64::MAX`: none), and what follows from them.
    pub(crate) fn note(&self, times: Times, verdict: Option<Verdict>) {
        let mut linked = lock(&self.linked);
        let timed = |nanoseconds: u64| Some(nanoseconds).filter(|nanoseconds| *nanoseconds != u64::MAX);
        linked.variant_ns = timed(times.variant);
        linked.ahead_of_time_ns = timed(times.ahead_of_time);
        if let Some(verdict) = verdict {
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
pub(crate) fn now_us() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}
