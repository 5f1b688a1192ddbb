//! Variants that are made in the background: a bounded queue, and the one thread that takes from it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use offloom_ir::expendable_thread::spawn_without_signals;
use offloom_jit_cache::tracker::LaunchKey;

use crate::guard::guarded;
use crate::slot::SlotState;

/// More launches than this that wait for a variant at once get none, and ask again later.
const MOST_WAITING: usize = 64;

struct Job {
    slot: &'static SlotState,
    key: LaunchKey,
}

struct Queue {
    jobs: Mutex<VecDeque<Job>>,
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
pub(crate) fn push(slot: &'static SlotState, key: LaunchKey) -> Result<(), LaunchKey> {
    let Some(queue) = queue() else {
        return Err(key);
    };
    let mut jobs = queue.jobs.lock().unwrap_or_else(PoisonError::into_inner);
    if jobs.len() >= MOST_WAITING {
        return Err(key);
    }
    jobs.push_back(Job { slot, key });
    drop(jobs);
    queue.added.notify_one();
    Ok(())
}

/// This process's queue, whose thread runs; `None` if it cannot be started.
fn queue() -> Option<&'static Queue> {
    let owner = std::process::id();
    let current = QUEUE.load(Ordering::Acquire);
    // SAFETY: what was stored is never freed.
    if let Some(queue) = unsafe { current.as_ref() }
        && queue.owner == owner
    {
        return Some(queue);
    }
    let fresh: &'static Queue = Box::leak(Box::new(Queue {
        jobs: Mutex::default(),
        added: Condvar::new(),
        owner,
    }));
    let fresh_pointer = std::ptr::from_ref(fresh).cast_mut();
    match QUEUE.compare_exchange(current, fresh_pointer, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            if spawn_without_signals(move || take_for_ever(fresh)).is_err() {
                QUEUE.store(std::ptr::null_mut(), Ordering::Release);
                return None;
            }
            Some(fresh)
        }
        // Another thread was faster; its queue is as good.
        // SAFETY: as above.
        Err(other) => unsafe { other.as_ref() },
    }
}

fn take_for_ever(queue: &'static Queue) {
    loop {
        let waiting = queue.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let job = queue
            .added
            .wait_while(waiting, |jobs| jobs.is_empty())
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        if let Some(job) = job {
            guarded((), || job.slot.make(&job.key));
        }
    }
}
