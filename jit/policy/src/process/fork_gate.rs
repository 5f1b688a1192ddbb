//! What a forked child may still do.
//!
//! A child has the memory of its parent and one of its threads. Where another thread was making a variant,
//! its locks stay locked in the child for ever, and tables may be half changed. Such a child runs what it has
//! and makes nothing. Two things are never cut in two, and fork waits for them: links, since the C++
//! runtime's table of exception frames changes in them, and starts of processes, whose sockets and pipes
//! the child would hold.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::exit_gate;
use crate::process::guard::guarded_on_foreign_thread;

/// Far longer than a link or a start takes; one that waits for the forking thread must not keep it for ever.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often is looked whether they have ended.
const PAUSE: Duration = Duration::from_micros(50);

/// Threads that change what others may wait for.
static CHANGING: AtomicUsize = AtomicUsize::new(0);
/// Threads that no fork cuts in two.
static UNDIVIDED: AtomicUsize = AtomicUsize::new(0);
/// Threads that are about to fork.
static FORKING: AtomicUsize = AtomicUsize::new(0);
/// Whether this process was forked while another thread was changing something.
static CUT_OFF: AtomicBool = AtomicBool::new(false);

/// A time in which locks are taken, on this thread.
#[derive(Debug)]
pub struct Change(());

/// Begins to change something; `None` in a child that cannot.
#[inline]
pub fn enter() -> Option<Change> {
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

/// A time that no fork cuts in two.
#[derive(Debug)]
pub struct Undivided(());

/// Begins something that no fork cuts in two, once no thread is forking. One that is, but waits in another
/// handler for a lock that this thread holds, is not waited for any longer: it forks once this thread lets go
/// of the lock.
pub fn enter_undivided() -> Undivided {
    let start = Instant::now();
    loop {
        UNDIVIDED.fetch_add(1, Ordering::SeqCst);
        let undivided = Undivided(());
        if FORKING.load(Ordering::SeqCst) == 0 || start.elapsed() >= PATIENCE {
            return undivided;
        }
        drop(undivided);
        thread::sleep(PAUSE);
    }
}

impl Drop for Undivided {
    fn drop(&mut self) {
        UNDIVIDED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What else a forked child does, in this order. Set before forks are watched.
static IN_CHILD: OnceLock<&'static [fn()]> = OnceLock::new();

/// Has forks watched from here on. A forked child calls the functions in `in_child`, which may neither lock
/// nor allocate; those of the first call count.
pub fn watch_forks(in_child: &'static [fn()]) {
    static REGISTERED: Once = Once::new();
    // SAFETY: the handlers are functions of this library, which is never unloaded.
    REGISTERED.call_once(|| unsafe {
        let _ = IN_CHILD.set(in_child);
        libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_this_child));
    });
}

unsafe extern "C" fn before_fork() {
    guarded_on_foreign_thread((), || {
        FORKING.fetch_add(1, Ordering::SeqCst);
        let start = Instant::now();
        while UNDIVIDED.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
    });
}

unsafe extern "C" fn in_parent() {
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

unsafe extern "C" fn in_this_child() {
    if CHANGING.swap(0, Ordering::SeqCst) > 0 {
        CUT_OFF.store(true, Ordering::Relaxed);
    }
    UNDIVIDED.store(0, Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
    exit_gate::forget_work();
    for act in IN_CHILD.get().copied().unwrap_or_default() {
        guarded_on_foreign_thread((), act);
    }
}
