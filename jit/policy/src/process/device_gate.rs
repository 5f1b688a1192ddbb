//! What a forked child may still do with devices, and a process that ends.
//!
//! A child has its parent's memory, but no device: what the driver named is not valid in it. Its launches go
//! to the driver as they are. When a process ends, the driver tears itself down in an exit handler. One of
//! ours, registered later, runs before: it waits for work in progress, and nothing is begun any more.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long the handler waits. A load waits for kernels that run, and a kernel may never end.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked whether work has ended.
const PAUSE: Duration = Duration::from_micros(200);

// Atomics alone: a lock could be held by a thread that a forked child does not have.
static FORKED: AtomicBool = AtomicBool::new(false);
static ENDING: AtomicBool = AtomicBool::new(false);
static WORKING: AtomicUsize = AtomicUsize::new(0);

/// Whether this process is a child of the one whose driver this is.
#[inline]
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Whether the process is ending, or cannot use the driver any more.
#[inline]
pub fn is_closed() -> bool {
    ENDING.load(Ordering::SeqCst) || is_forked()
}

/// Work with the driver that the end of the process waits for until this is dropped.
#[derive(Debug)]
pub struct Work(());

/// Begins work; `None` when the process is ending or forked.
pub fn enter() -> Option<Work> {
    if is_forked() {
        return None;
    }
    WORKING.fetch_add(1, Ordering::SeqCst);
    let work = Work(());
    (!ENDING.load(Ordering::SeqCst)).then_some(work)
}

impl Drop for Work {
    fn drop(&mut self) {
        WORKING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Has forks and the end of the process seen from here on: once for each driver, when it is initialised. Its
/// own handlers come after ours then.
pub fn watch(of_driver: &'static Once) {
    // SAFETY: the handlers are functions of this library, which is never unloaded: libomptarget calls it.
    of_driver.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
        libc::atexit(close);
    });
}

unsafe extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    WORKING.store(0, Ordering::SeqCst);
}

extern "C" fn close() {
    ENDING.store(true, Ordering::SeqCst);
    let start = Instant::now();
    while WORKING.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE && !is_forked() {
        thread::sleep(PAUSE);
    }
}
