//! The processors that the process may use. libomp binds the program's threads to some of them
//! (`OMP_PROC_BIND`), and what such a thread starts inherits that: compiles would share the processor of the
//! thread that launches, whatever others have to do.

use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

static ALLOWED: OnceLock<CpuSet> = OnceLock::new();

/// Notes what the calling thread may use. For the start of the program, when nothing is bound yet; later
/// calls do nothing.
pub fn note() {
    if ALLOWED.get().is_none()
        && let Ok(processors) = sched_getaffinity(None)
    {
        let _ = ALLOWED.set(processors);
    }
}

/// How many the process may use, as far as that is known.
pub fn count() -> Option<u32> {
    ALLOWED.get().map(CpuSet::count)
}

/// Lets the calling thread run on all of them. Neither allocates nor locks.
pub fn use_all() {
    if let Some(processors) = ALLOWED.get() {
        let _ = sched_setaffinity(None, processors);
    }
}
