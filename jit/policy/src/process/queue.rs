//! What is done in the background: a bounded queue, and the one thread that takes from it while there is
//! something.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use offloom_jit_cache::settings::Mode;
use offloom_thread::spawn_without_signals;

use crate::process::fork_gate;
use crate::process::guard::{ForeignThreadGuard, guarded};
use crate::process::lock::lock;
use crate::process::processors;
use crate::process::report;
use crate::process::settings::settings;

/// More jobs than this that may be left undone do not wait at once.
const MOST_WAITING: usize = 64;
/// Where there was no thread to be had, none is asked for before this has passed.
const PAUSE_WITHOUT_THREAD: Duration = Duration::from_secs(1);
/// A thread with nothing to do ends after this: a process ends with its last thread.
const IDLE: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    /// Whether there is a thread.
    running: bool,
    /// When there was none to be had.
    refused: Option<Instant>,
}

struct Queue {
    jobs: Mutex<Jobs>,
    /// How many wait, for those who only want to know that.
    length: AtomicUsize,
    /// Whether there was no thread to be had when one was last asked for.
    is_without_thread: AtomicBool,
    added: Condvar,
    /// The process whose thread takes from it: after a fork the child needs one of its own.
    owner: u32,
}

/// Whether this process was forked and has not looked for what waits.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Never freed: the thread waits on it until the process is gone.
static QUEUE: AtomicPtr<Queue> = AtomicPtr::new(std::ptr::null_mut());

/// Has a job done after all that wait, unless too many do: false then, as when there is no thread to do it.
pub fn offer(job: impl FnOnce() + Send + 'static) -> bool {
    queue().push(MOST_WAITING, Box::new(job))
}

/// Whether a job that is offered now is likely to be taken. Takes no lock, unless there was no thread to be
/// had.
pub fn has_room() -> bool {
    queue().has_room()
}

/// Has a job done after all that wait where variants are made in the background, and at once elsewhere.
/// Without a thread for it, it is never done.
pub fn add(job: impl FnOnce() + Send + 'static) {
    match settings().mode {
        Mode::Async => {
            queue().push(usize::MAX, Box::new(job));
        }
        Mode::Sync | Mode::Off => job(),
    }
}

/// In a forked child: what waited in its parent waits in it too, for a thread of its own.
pub fn remember_fork() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Has what waited at a fork done in the child, if that was not seen to yet.
#[inline]
pub fn resume_after_fork() {
    if FORKED.load(Ordering::Relaxed) {
        resume();
    }
}

#[cold]
fn resume() {
    if FORKED.swap(false, Ordering::Relaxed) {
        let _guard = ForeignThreadGuard::begin();
        // The thread begins with what waits.
        if let Some(_change) = fork_gate::enter() {
            add(|| ());
        }
    }
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
    // SAFETY: as above.
    let inherited = unsafe { current.as_ref() };
    let fresh: &'static Queue = Box::leak(Box::new(Queue::of(owner)));
    let fresh_pointer = std::ptr::from_ref(fresh).cast_mut();
    match QUEUE.compare_exchange(current, fresh_pointer, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            if let Some(waiting) = inherited.and_then(Queue::waiting) {
                let mut jobs = lock(&fresh.jobs);
                jobs.waiting.extend(waiting);
                fresh.length.store(jobs.waiting.len(), Ordering::Relaxed);
            }
            fresh
        }
        // Another thread was faster; its queue is as good.
        // SAFETY: as above; it is not null.
        Err(other) => unsafe { &*other },
    }
}

impl Queue {
    /// Nothing, in this process.
    fn of(owner: u32) -> Self {
        Self {
            jobs: Mutex::default(),
            length: AtomicUsize::new(0),
            is_without_thread: AtomicBool::new(false),
            added: Condvar::new(),
            owner,
        }
    }

    /// What waited at a fork, for the child; nothing if another thread was at it.
    fn waiting(&self) -> Option<VecDeque<Job>> {
        let mut jobs = self.jobs.try_lock().ok()?;
        Some(std::mem::take(&mut jobs.waiting))
    }

    fn has_room(&self) -> bool {
        self.length.load(Ordering::Relaxed) < MOST_WAITING
            && (!self.is_without_thread.load(Ordering::Relaxed) || self.may_ask_for_thread())
    }

    #[cold]
    fn may_ask_for_thread(&self) -> bool {
        let refused = lock(&self.jobs).refused;
        refused.is_none_or(|refused| refused.elapsed() >= PAUSE_WITHOUT_THREAD)
    }

    /// Adds a job behind fewer than so many; false when there are more, or no thread to do it.
    fn push(&'static self, most_waiting: usize, job: Job) -> bool {
        let mut jobs = lock(&self.jobs);
        if jobs.waiting.len() >= most_waiting {
            return false;
        }
        let place = jobs.waiting.len();
        jobs.waiting.push_back(job);
        self.length.store(jobs.waiting.len(), Ordering::Relaxed);
        if std::mem::replace(&mut jobs.running, true) {
            drop(jobs);
            self.added.notify_one();
            return true;
        }
        // Not with the lock: to start a thread, the standard library asks the loader for a symbol, whose lock
        // may be held by a constructor that launches, and so waits for this one.
        drop(jobs);
        if let Err(error) = spawn_without_signals(move || self.take_while_there_are_any()) {
            report::log(format_args!(
                "there is no thread to compile in the background: {error}"
            ));
        } else {
            self.is_without_thread.store(false, Ordering::Relaxed);
            return true;
        }
        let mut jobs = lock(&self.jobs);
        jobs.running = false;
        jobs.refused = Some(Instant::now());
        self.is_without_thread.store(true, Ordering::Relaxed);
        // Nobody has taken any; what others have added meanwhile waits for the next thread.
        let refused = jobs.waiting.remove(place);
        self.length.store(jobs.waiting.len(), Ordering::Relaxed);
        drop((jobs, refused));
        false
    }

    fn take_while_there_are_any(&self) {
        processors::use_all();
        loop {
            let (mut jobs, _) = self
                .added
                .wait_timeout_while(lock(&self.jobs), IDLE, |jobs| jobs.waiting.is_empty())
                .unwrap_or_else(PoisonError::into_inner);
            let Some(job) = jobs.waiting.pop_front() else {
                jobs.running = false;
                return;
            };
            self.length.store(jobs.waiting.len(), Ordering::Relaxed);
            // A child forked from here on has lost the job, so that it waits for none.
            let _change = fork_gate::enter();
            drop(jobs);
            guarded((), job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_full_queue_takes_nothing_and_says_so() {
        let queue: &'static Queue = Box::leak(Box::new(Queue::of(std::process::id())));
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let blocks = move || {
            begun.send(()).unwrap();
            may_go_on.recv().unwrap_err();
        };
        assert!(queue.push(MOST_WAITING, Box::new(blocks)));
        has_begun.recv().unwrap();
        for _ in 0..MOST_WAITING {
            assert!(queue.has_room());
            assert!(queue.push(MOST_WAITING, Box::new(|| ())));
        }
        assert!(!queue.has_room());
        assert!(!queue.push(MOST_WAITING, Box::new(|| ())));

        let (last, was_last) = mpsc::channel();
        assert!(queue.push(usize::MAX, Box::new(move || last.send(()).unwrap())));
        drop(go_on);
        was_last.recv().unwrap();
        assert!(queue.has_room());
    }
}
