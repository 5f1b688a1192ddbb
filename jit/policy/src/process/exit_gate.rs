//! Lets work inside LLVM end before the process's exit handlers tear LLVM down.
//!
//! A thread that is compiling or linking while `exit` runs crashes in LLVM's destroyed state. Handlers run in
//! reverse order of registration. One of ours is registered before LLVM is first used here; every handler
//! that LLVM registers later, for statics inside its functions, closes the gate before it runs (by what
//! [`guard_exit`] is given). Leading those handlers here takes some time, so it is done when work first
//! begins, not when the program starts.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};
use std::thread;
use std::time::Duration;

use libc::atexit;
use rustix::time::{ClockId, clock_gettime};

use crate::process::guard::guarded_on_foreign_thread;

/// Milliseconds for which all handlers together wait. Longer than any sound compile; a hung one must not keep
/// the process from ending.
const PATIENCE: u64 = 10_000;
/// How often is looked whether work has ended.
const PAUSE: Duration = Duration::from_micros(200);

// Atomics alone: a lock could be held by a thread that a forked child does not have.
static CLOSED: AtomicBool = AtomicBool::new(false);
static WORKING: AtomicUsize = AtomicUsize::new(0);
/// When the first handler began to wait, on [`now`]'s clock; 0: none has.
static CLOSED_AT: AtomicU64 = AtomicU64::new(0);

/// Work inside LLVM that `exit` waits for until this is dropped.
#[derive(Debug)]
pub struct Work(());

/// Starts work inside LLVM; `None` when the process is ending.
pub fn enter() -> Option<Work> {
    WORKING.fetch_add(1, Ordering::SeqCst);
    let work = Work(());
    lead_handlers_here();
    (!CLOSED.load(Ordering::SeqCst)).then_some(work)
}

impl Drop for Work {
    fn drop(&mut self) {
        WORKING.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Work {
    /// The work of a thread that will never drop it, since LLVM has parked it. At most once for each.
    pub const fn of_parked_thread() -> Self {
        Self(())
    }
}

/// Whether the process is ending.
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::SeqCst)
}

/// Has its argument run before each exit handler that is registered from then on.
pub type Lead = fn(first: fn());

static LEAD: OnceLock<Lead> = OnceLock::new();

/// Makes `exit` wait for work from here on. `lead` has the gate closed before any handler that what is worked
/// with registers later; it is called when work first begins.
pub fn guard_exit(lead: Lead) {
    static REGISTERED: Once = Once::new();
    let _ = LEAD.set(lead);
    REGISTERED.call_once(close_before_earlier_handlers);
}

/// Has the gate closed before any handler that was registered or will be.
fn lead_handlers_here() {
    static LED: Once = Once::new();
    let Some(lead) = LEAD.get() else { return };
    LED.call_once(|| {
        lead(close);
        // Others in this process use the same LLVM, and may have done so since this was done when the program
        // was attached.
        close_before_earlier_handlers();
    });
}

fn close_before_earlier_handlers() {
    // SAFETY: the handler is a function of this library, which is never unloaded: images hold pointers into
    // it.
    unsafe { atexit(close_at_exit) };
}

/// Lets no work begin any more, and waits for what has begun.
fn close() {
    CLOSED.store(true, Ordering::SeqCst);
    let start = now();
    let first = CLOSED_AT.compare_exchange(0, start, Ordering::SeqCst, Ordering::SeqCst);
    let first = first.map_or_else(|earlier| earlier, |_| start);
    while WORKING.load(Ordering::SeqCst) > 0 && now().saturating_sub(first) < PATIENCE {
        thread::sleep(PAUSE);
    }
}

/// Milliseconds of a clock that does not go backwards, and has gone on for a while.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64 * 1_000 + time.tv_nsec as u64 / 1_000_000).max(1)
}

/// In a forked child: the threads that worked are not there.
pub fn forget_work() {
    WORKING.store(0, Ordering::SeqCst);
    CLOSED_AT.store(0, Ordering::SeqCst);
}

extern "C" fn close_at_exit() {
    guarded_on_foreign_thread((), close);
}
