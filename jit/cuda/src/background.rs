//! The thread for what launches must not wait for: loading, which waits for kernels that run, and reading
//! times.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use offloom_thread::spawn_without_signals;

use crate::driver::driver;
use crate::timing;
use offloom_jit_policy::process::device_gate;
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::processors;

/// A thread with nothing to do ends after this: a process ends with its last thread.
const IDLE: Duration = Duration::from_secs(1);
/// More jobs than this do not wait.
const MOST_WAITING: usize = 256;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    /// Whether there is a thread.
    running: bool,
    /// Whether the thread is to look at times.
    woken: bool,
}

#[derive(Default)]
struct Queue {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

fn queue() -> &'static Queue {
    // Leaked: the thread waits on it until the process is gone.
    static QUEUE: OnceLock<&'static Queue> = OnceLock::new();
    QUEUE.get_or_init(|| Box::leak(Box::default()))
}

/// Why a job is not done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotAdded {
    /// Too many wait, or there is no thread for it now.
    Busy,
    /// The process is ending, or forked.
    TooLate,
}

/// Has a job done in the background, after all that wait. A job that waits when the process ends is never
/// done.
///
/// # Errors
/// When it is not done.
pub fn add(job: impl FnOnce() + Send + 'static) -> Result<(), NotAdded> {
    if device_gate::is_closed() {
        return Err(NotAdded::TooLate);
    }
    let mut jobs = lock(&queue().jobs);
    if jobs.waiting.len() >= MOST_WAITING {
        return Err(NotAdded::Busy);
    }
    let place = jobs.waiting.len();
    jobs.waiting.push_back(Box::new(job));
    if start_or_notify(jobs) {
        return Ok(());
    }
    // Nobody has taken any; what others have added meanwhile waits for the next thread.
    let dropped = lock(&queue().jobs).waiting.remove(place);
    drop(dropped);
    Err(NotAdded::Busy)
}

/// Has the times of launches looked at. False: there is no thread for it now.
pub(crate) fn wake() -> bool {
    if device_gate::is_closed() {
        return false;
    }
    let mut jobs = lock(&queue().jobs);
    if std::mem::replace(&mut jobs.woken, true) || start_or_notify(jobs) {
        return true;
    }
    // The next one tries again.
    lock(&queue().jobs).woken = false;
    false
}

/// Has the thread look at what there is. False: there is none to be had.
fn start_or_notify(mut jobs: std::sync::MutexGuard<'_, Jobs>) -> bool {
    let is_running = std::mem::replace(&mut jobs.running, true);
    drop(jobs);
    if is_running {
        queue().changed.notify_one();
        return true;
    }
    let started = spawn_without_signals(run).is_ok();
    if !started {
        lock(&queue().jobs).running = false;
    }
    started
}

fn run() {
    processors::use_all();
    let queue = queue();
    let mut pause = timing::PAUSE;
    loop {
        let at_most = if timing::is_pending() { pause } else { IDLE };
        let (mut jobs, _) = queue
            .changed
            .wait_timeout_while(lock(&queue.jobs), at_most, |jobs| {
                jobs.waiting.is_empty() && !jobs.woken
            })
            .unwrap_or_else(PoisonError::into_inner);
        let woken = std::mem::take(&mut jobs.woken);
        let job = jobs.waiting.pop_front();
        if job.is_none() && !woken && !timing::is_pending() {
            jobs.running = false;
            return;
        }
        drop(jobs);
        // A launch may take hours.
        pause = match woken {
            true => timing::PAUSE,
            false => (pause * 2).min(timing::LONGEST_PAUSE),
        };
        // What a panic leaves behind is behind mutexes, which outlive it; the client tells of its own.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if let Some(_work) = device_gate::enter() {
                if let Some(job) = job {
                    job();
                }
                if let Some(driver) = driver() {
                    timing::read(driver);
                }
            }
        }));
        if device_gate::is_closed() {
            thread::sleep(timing::PAUSE);
        }
    }
}
