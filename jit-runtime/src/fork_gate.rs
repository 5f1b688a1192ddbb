//! What a forked child may still do.
//!
//! A child has the memory of its parent and one of its threads. Where another thread was making a variant, its locks stay locked
//! in the child for ever, and tables may be half changed. Such a child runs what it has and makes nothing. Links are never cut in
//! two: fork waits for them, since the C++ runtime's table of exception frames changes in them.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::exit_gate;
use crate::guard::guarded;
use crate::worker;

/// Far longer than a link takes; one that waits for the forking thread must not keep it for ever.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often is looked whether links have ended.
const PAUSE: Duration = Duration::from_micros(50);

/// Threads that change what others may wait for.
static CHANGING: AtomicUsize = AtomicUsize::new(0);
/// Threads that link.
static LINKING: AtomicUsize = AtomicUsize::new(0);
/// Threads that are about to fork.
static FORKING: AtomicUsize = AtomicUsize::new(0);
/// Whether this process was forked while another thread was changing something.
static CUT_OFF: AtomicBool = AtomicBool::new(false);

/// A time in which locks are taken, on this thread.
#[derive(Debug)]
pub(crate) struct Change(());

/// Begins to change something; `None` in a child that cannot.
#[inline]
pub(crate) fn enter() -> Option<Change> {
    if CUT_OFF.load(Ordering::Relaxed) {
        return None;
    }
    CHANGING.fetch_add(1, Ordering::SeqCst);
    Some(Change(()))
}

impl Drop for Change {
    fn drop(&mut self) {
        CHANGING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A link, which no fork cuts in two.
#[derive(Debug)]
pub(crate) struct Link(());

/// Begins to link, once no thread is forking.
pub(crate) fn enter_link() -> Link {
    loop {
        LINKING.fetch_add(1, Ordering::SeqCst);
        let link = Link(());
        if FORKING.load(Ordering::SeqCst) == 0 {
            return link;
        }
        drop(link);
        thread::sleep(PAUSE);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        LINKING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Has forks watched from here on.
pub(crate) fn watch_forks() {
    static REGISTERED: Once = Once::new();
    // SAFETY: the handlers are functions of this library, which is never unloaded.
    REGISTERED.call_once(|| unsafe {
        libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child));
    });
}

unsafe extern "C" fn before_fork() {
    guarded((), || {
        FORKING.fetch_add(1, Ordering::SeqCst);
        let start = Instant::now();
        while LINKING.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
    });
}

unsafe extern "C" fn in_parent() {
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

unsafe extern "C" fn in_child() {
    guarded((), worker::leave_to_parent);
    if CHANGING.swap(0, Ordering::SeqCst) > 0 {
        CUT_OFF.store(true, Ordering::Relaxed);
    }
    LINKING.store(0, Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
    exit_gate::forget_work();
}
