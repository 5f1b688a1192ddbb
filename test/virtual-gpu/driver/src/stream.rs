//! Streams: work in order, beside the caller. Each has a host thread as soon as it has work.
//!
//! The default stream waits for the work of all streams that block, and they for its: whatever was submitted
//! before. Work only ever waits for work that was submitted before it, so nothing waits for itself.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use crate::capture::Recording;
use crate::context::Context;
use crate::driver::lock;
use crate::error::{CudaError, Result};
use crate::message;

/// `CU_STREAM_NON_BLOCKING`: has nothing to do with the default stream.
pub(crate) const NON_BLOCKING: u32 = 1;

/// One stream.
#[derive(Debug)]
pub(crate) struct Stream {
    /// 0: the default stream of its context.
    pub(crate) handle: u64,
    pub(crate) context: Arc<Context>,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    queue: Mutex<Queue>,
    changed: Condvar,
    is_closed: AtomicBool,
    /// The graph that it records.
    pub(crate) recording: Recording,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    submitted: u64,
    completed: u64,
    has_thread: bool,
}

impl fmt::Debug for Queue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of {} done", self.completed, self.submitted)
    }
}

struct Task {
    waits: Vec<Mark>,
    work: Work,
}

/// What a stream does at its turn. It gets the error with which a kernel of the context has failed, if one
/// has.
pub(crate) type Work = Box<dyn FnOnce(Result<()>) -> Result<()> + Send>;

/// A point in a stream: it is reached when everything that was submitted before it is done.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    stream: Arc<Stream>,
    number: u64,
}

impl Mark {
    /// Waits until it is reached.
    pub(crate) fn wait(&self) {
        let mut queue = lock(&self.stream.queue);
        while queue.completed < self.number {
            queue = self
                .stream
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether it is reached.
    pub(crate) fn is_reached(&self) -> bool {
        lock(&self.stream.queue).completed >= self.number
    }
}

impl Stream {
    pub(crate) fn new(handle: u64, context: Arc<Context>, flags: u32, priority: i32) -> Self {
        Self {
            handle,
            context,
            flags,
            priority,
            queue: Mutex::default(),
            changed: Condvar::new(),
            is_closed: AtomicBool::new(false),
            recording: Recording::default(),
        }
    }

    pub(crate) fn is_default(&self) -> bool {
        self.handle == 0
    }

    /// The point behind all that was submitted.
    pub(crate) fn last(self: &Arc<Self>) -> Mark {
        Mark {
            number: lock(&self.queue).submitted,
            stream: Arc::clone(self),
        }
    }

    /// Submits work that needs no more than its turn.
    pub(crate) fn submit(self: &Arc<Self>, work: Work) -> Result<Mark> {
        self.submit_after(Vec::new(), work)
    }

    /// Submits work that waits, at its turn, for points of other streams too.
    pub(crate) fn submit_after(self: &Arc<Self>, mut waits: Vec<Mark>, work: Work) -> Result<Mark> {
        let _order = lock(&self.context.submission);
        if self.is_default() {
            let streams = lock(&self.context.streams);
            let blocking = streams.iter().filter(|stream| stream.flags & NON_BLOCKING == 0);
            waits.extend(blocking.map(Self::last));
        } else if self.flags & NON_BLOCKING == 0 {
            waits.push(self.context.default_stream().last());
        }
        waits.retain(|mark| !mark.is_reached());
        let mut queue = lock(&self.queue);
        if !queue.has_thread {
            let stream = Arc::clone(self);
            let thread = thread::Builder::new().name("virtual-gpu".to_owned());
            thread.spawn(move || stream.run()).map_err(|error| {
                message::line(format_args!("cannot start a thread for a stream: {error}"));
                CudaError::OUT_OF_MEMORY
            })?;
            queue.has_thread = true;
        }
        queue.submitted += 1;
        queue.tasks.push_back(Task { waits, work });
        let number = queue.submitted;
        drop(queue);
        self.changed.notify_all();
        Ok(Mark {
            stream: Arc::clone(self),
            number,
        })
    }

    /// Waits for all that was submitted.
    pub(crate) fn synchronize(self: &Arc<Self>) -> Result<()> {
        self.last().wait();
        if self.is_default() {
            // What blocks the default stream is waited for too: it would wait for it.
            let marks: Vec<_> = {
                let streams = lock(&self.context.streams);
                let blocking = streams.iter().filter(|stream| stream.flags & NON_BLOCKING == 0);
                blocking.map(Self::last).collect()
            };
            for mark in marks {
                mark.wait();
            }
        }
        self.context.check()
    }

    /// Has the thread end after what was submitted.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        drop(lock(&self.queue));
        self.changed.notify_all();
    }

    /// The stream's thread.
    fn run(self: Arc<Self>) {
        loop {
            let task = {
                let mut queue = lock(&self.queue);
                loop {
                    if let Some(task) = queue.tasks.pop_front() {
                        break task;
                    }
                    if self.is_closed.load(Ordering::Acquire) {
                        queue.has_thread = false;
                        return;
                    }
                    queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
            };
            for mark in task.waits {
                mark.wait();
            }
            let state = self.context.check();
            let work = task.work;
            let ended = catch_unwind(AssertUnwindSafe(|| work(state)));
            if let Err(error) = ended.unwrap_or(Err(CudaError::UNKNOWN)) {
                self.context.fail(error);
            }
            lock(&self.queue).completed += 1;
            self.changed.notify_all();
        }
    }
}
