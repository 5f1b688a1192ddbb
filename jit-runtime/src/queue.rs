//! What is done in the background: a bounded queue, and the one thread that takes from it while there is something.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use offloom_ir::expendable_thread::spawn_without_signals;
use offloom_jit_cache::tracker::LaunchKey;

use crate::fork_gate;
use crate::guard::guarded;
use crate::registry::WithdrawnImage;
use crate::slot::SlotState;
use crate::variant::Variant;

/// More launches than this that wait for a variant at once get none, and ask again later.
const MOST_WAITING: usize = 64;
/// A thread with nothing to do ends after this: a process ends with its last thread.
const IDLE: Duration = Duration::from_secs(1);

enum Job {
    /// To make the variant for a key.
    Make(&'static SlotState, LaunchKey),
    /// To free a retired variant's code.
    GiveBack(&'static Variant),
    /// To free what was made for an image copy that was unloaded.
    Free(WithdrawnImage),
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    /// Whether there is a thread.
    running: bool,
}

struct Queue {
    jobs: Mutex<Jobs>,
    added: Condvar,
    /// The process whose thread takes from it: after a fork the child needs one of its own.
    owner: u32,
}

/// Never freed: the thread waits on it until the process is gone.
static QUEUE: AtomicPtr<Queue> = AtomicPtr::new(std::ptr::null_mut());

/// Has the variant made for a claimed key.
///
/// # Errors
/// The key, when it cannot be queued: too many are waiting, or there is no thread.
pub(crate) fn make(slot: &'static SlotState, key: LaunchKey) -> Result<(), LaunchKey> {
    let queue = queue();
    let jobs = queue.lock();
    if jobs.waiting.len() >= MOST_WAITING {
        return Err(key);
    }
    match queue.push(jobs, Job::Make(slot, key)) {
        Some(Job::Make(_, key)) => Err(key),
        _ => Ok(()),
    }
}

/// Has a retired variant's code freed, which no launch runs any more.
pub(crate) fn give_back(variant: &'static Variant) {
    let Some(_change) = fork_gate::enter() else { return };
    let queue = queue();
    let jobs = queue.lock();
    // Without a thread it is never freed.
    queue.push(jobs, Job::GiveBack(variant));
}

/// Has what was made for an image copy freed, after all that was queued for it.
pub(crate) fn free(image: WithdrawnImage) {
    let queue = queue();
    let jobs = queue.lock();
    queue.push(jobs, Job::Free(image));
}

/// This process's queue.
fn queue() -> &'static Queue {
    let owner = std::process::id();
    let current = QUEUE.load(Ordering::Acquire);
    // SAFETY: what was stored is never freed.
    if let Some(queue) = unsafe { current.as_ref() }
        && queue.owner == owner
    {
        return queue;
    }
    let fresh: &'static Queue = Box::leak(Box::new(Queue {
        jobs: Mutex::default(),
        added: Condvar::new(),
        owner,
    }));
    let fresh_pointer = std::ptr::from_ref(fresh).cast_mut();
    match QUEUE.compare_exchange(current, fresh_pointer, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => fresh,
        // Another thread was faster; its queue is as good.
        // SAFETY: as above; it is not null.
        Err(other) => unsafe { &*other },
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job; returns it when there is no thread to do it.
    fn push(&'static self, mut jobs: MutexGuard<'_, Jobs>, job: Job) -> Option<Job> {
        if !jobs.running {
            if spawn_without_signals(move || self.take_while_there_are_any()).is_err() {
                return Some(job);
            }
            jobs.running = true;
        }
        jobs.waiting.push_back(job);
        drop(jobs);
        self.added.notify_one();
        None
    }

    fn take_while_there_are_any(&self) {
        loop {
            let (mut jobs, _) = self
                .added
                .wait_timeout_while(self.lock(), IDLE, |jobs| jobs.waiting.is_empty())
                .unwrap_or_else(PoisonError::into_inner);
            let Some(job) = jobs.waiting.pop_front() else {
                jobs.running = false;
                return;
            };
            drop(jobs);
            guarded((), || match job {
                Job::Make(slot, key) => {
                    slot.make(&key);
                }
                Job::GiveBack(variant) => variant.slot.give_back(variant),
                Job::Free(image) => image.free(),
            });
        }
    }
}
