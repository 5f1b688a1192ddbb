//! What `OFFLOOM_JIT_STATS` asks for: what became of each kernel's launches, written when the process ends.
//!
//! Nothing is noted when it is not set, and a launch pays for nothing.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use offloom_abi::jit_compile;
use offloom_ir::expendable_thread::run_on_expendable_thread;
use offloom_jit_cache::stats::{Linked, Origin, Phases, Statistics, VERSION, Variant, Verdict};

use crate::kernel::llvm_version;
use crate::registry;
use crate::report;
use crate::settings::settings;

/// In a forked child another thread of its parent may hold a lock for ever; a network file system may hang. The process ends all
/// the same.
const PATIENCE: Duration = Duration::from_secs(5);

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
        self.lock().push(Made {
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

    /// Notes that an object was linked into an image copy, or that it failed; what is returned counts its launches.
    pub(crate) fn add_copy(
        &self,
        descriptor: impl FnOnce() -> String,
        image_copy: u32,
        link_time: Duration,
        verdict: Verdict,
    ) -> Option<Arc<Copy>> {
        settings().stats.as_ref()?;
        let copy = Arc::new(Copy {
            launches: AtomicU64::new(0),
            linked: Mutex::new(Linked {
                image_copy,
                link_us: u64::try_from(link_time.as_micros()).unwrap_or(u64::MAX),
                launches: 0,
                verdict,
                linked_us: Some(now_us()),
                verdict_us: None,
                variant_ns: None,
                ahead_of_time_ns: None,
            }),
        });
        let descriptor = descriptor();
        let mut made = self.lock();
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
        let made = self.lock();
        let variants = made.iter().map(|made| Variant {
            copies: made.copies.iter().map(|copy| copy.now()).collect(),
            ..made.variant.clone()
        });
        variants.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Made>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Copy {
    /// Counts a launch.
    pub(crate) fn count_launch(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes the fastest timed launches so far, in nanoseconds (`u64::MAX`: none), and what follows from them.
    pub(crate) fn note(&self, variant: u64, ahead_of_time: u64, verdict: Option<Verdict>) {
        let mut linked = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
        let timed = |nanoseconds: u64| Some(nanoseconds).filter(|nanoseconds| *nanoseconds != u64::MAX);
        linked.variant_ns = timed(variant);
        linked.ahead_of_time_ns = timed(ahead_of_time);
        if let Some(verdict) = verdict {
            linked.verdict_us = Some(now_us());
            linked.verdict = verdict;
        }
    }

    fn now(&self) -> Linked {
        let linked = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
        Linked {
            launches: self.launches.load(Ordering::Relaxed),
            ..linked.clone()
        }
    }
}

/// Microseconds since this was asked for first, which is when the process began to use the JIT.
fn now_us() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// The process that the settings were first needed in; 0 before.
static FIRST_PROCESS: AtomicU32 = AtomicU32::new(0);

/// Remembers that this process uses the JIT: a child that is forked from it writes a file of its own.
pub(crate) fn remember_process() {
    let _ = now_us();
    let _ = FIRST_PROCESS.compare_exchange(0, std::process::id(), Ordering::Relaxed, Ordering::Relaxed);
}

/// Writes the file, if one was asked for.
pub(crate) fn write() {
    let Some(path) = &settings().stats else { return };
    let process = std::process::id();
    let first = FIRST_PROCESS.load(Ordering::Relaxed);
    let forked_from = Some(first).filter(|first| *first != process);
    let path = file_name(path, process, forked_from.is_some());
    let statistics = move || {
        let statistics = Statistics {
            version: VERSION,
            offloom: env!("CARGO_PKG_VERSION").to_owned(),
            llvm: llvm_version(),
            process,
            forked_from,
            duration_us: Some(now_us()),
            kernels: registry::statistics(),
        };
        statistics.write(&path)
    };
    match run_on_expendable_thread(PATIENCE, statistics) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => report::line(format_args!("OFFLOOM_JIT_STATS: {error}")),
        Err(lost) => report::line(format_args!(
            "OFFLOOM_JIT_STATS: no statistics are written: {lost}"
        )),
    }
}

/// The file for this process: `%p` in the name is its number, which a forked child appends where there is none.
fn file_name(path: &std::path::Path, process: u32, forked: bool) -> PathBuf {
    let name = path.to_string_lossy();
    if name.contains("%p") {
        return name.replace("%p", &process.to_string()).into();
    }
    if forked {
        let mut own = path.as_os_str().to_owned();
        own.push(format!(".{process}"));
        return own.into();
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn each_process_has_a_file_of_its_own() {
        assert_eq!(file_name(Path::new("a/s"), 7, false), Path::new("a/s"));
        assert_eq!(file_name(Path::new("a/s"), 7, true), Path::new("a/s.7"));
        assert_eq!(file_name(Path::new("a/%p.json"), 7, true), Path::new("a/7.json"));
    }
}
