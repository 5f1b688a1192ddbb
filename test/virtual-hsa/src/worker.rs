//! Threads that call handlers of signals, and that copy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::{fmt, ptr};

use crate::abi::{Handle, SignalHandler, Status};
use crate::memory::Areas;
use crate::pulse;
use crate::runtime::{Failure, Result, Runtime, UserData};
use crate::signal::Condition;

/// What a thread has to do once signals have certain values.
pub(crate) trait Task: Send + 'static {
    /// The signals that are waited for, all of them.
    fn awaited(&self) -> &[(Handle, Condition)];
    /// Does it. `true`: again, once the signals have these values.
    fn run(&mut self, runtime: &Runtime) -> bool;
}

/// A handler of a signal.
pub(crate) struct HandlerTask {
    pub(crate) awaited: [(Handle, Condition); 1],
    pub(crate) function: SignalHandler,
    pub(crate) argument: UserData,
}

impl Task for HandlerTask {
    fn awaited(&self) -> &[(Handle, Condition)] {
        &self.awaited
    }

    fn run(&mut self, runtime: &Runtime) -> bool {
        let value = runtime
            .signals
            .get(self.awaited[0].0)
            .map_or(0, |signal| signal.load());
        (self.function)(value, self.argument.0)
    }
}

/// A copy between memory that agents reach.
pub(crate) struct CopyTask {
    pub(crate) awaited: Vec<(Handle, Condition)>,
    /// Address and agent of both sides.
    pub(crate) to: (usize, Handle),
    pub(crate) from: (usize, Handle),
    /// Bytes.
    pub(crate) size: usize,
    pub(crate) completion: Handle,
}

impl CopyTask {
    /// Where the runtime writes to and reads from.
    ///
    /// # Errors
    ///
    /// When an agent does not reach its side.
    pub(crate) fn places(&self, areas: &Areas) -> std::result::Result<(usize, usize), String> {
        let place = |side: &str, (address, agent)| {
            let area = areas.check(address, self.size, agent);
            area.map(|area| area.inside(address))
                .map_err(|what| format!("the {side} of a copy of {} bytes: {what}", self.size))
        };
        Ok((place("destination", self.to)?, place("source", self.from)?))
    }
}

impl Task for CopyTask {
    fn awaited(&self) -> &[(Handle, Condition)] {
        &self.awaited
    }

    fn run(&mut self, runtime: &Runtime) -> bool {
        let areas = runtime.memory.areas();
        // The program may have freed memory since it asked for the copy.
        let (to, from) = match self.places(&areas) {
            Ok(places) => places,
            Err(what) => runtime.journal.fatal(what),
        };
        let to = ptr::with_exposed_provenance_mut::<u8>(to);
        let from = ptr::with_exposed_provenance::<u8>(from);
        // SAFETY: both sides are live memory of that size while the areas are locked; that nobody else uses
        // them meanwhile is the program's promise. They may overlap.
        unsafe { ptr::copy(from, to, self.size) };
        drop(areas);
        match runtime.signals.get(self.completion) {
            Some(signal) => signal.complete(),
            None => runtime.journal.fatal(format_args!(
                "signal {:#x} was destroyed before the copy that completes it has ended",
                self.completion
            )),
        }
        false
    }
}

/// A thread with its tasks, which starts with the first of them.
struct Worker<T> {
    tasks: Mutex<Vec<T>>,
    is_ending: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<T> Default for Worker<T> {
    fn default() -> Self {
        Self {
            tasks: Mutex::new(Vec::new()),
            is_ending: AtomicBool::new(false),
            thread: Mutex::new(None),
        }
    }
}

impl<T: Task> Worker<T> {
    fn tasks(&self) -> MutexGuard<'_, Vec<T>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, task: T, runtime: &Arc<Runtime>, of: fn(&Workers) -> &Self) -> Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let runtime = Arc::clone(runtime);
            let spawned = thread::Builder::new().spawn(move || of(&runtime.workers).run(&runtime));
            *thread = Some(spawned.map_err(|_| Failure::from(Status::ERROR_OUT_OF_RESOURCES))?);
        }
        self.tasks().push(task);
        pulse::ring();
        Ok(())
    }

    fn run(&self, runtime: &Runtime) {
        let next = || {
            if self.is_ending.load(Ordering::SeqCst) {
                return Some(None);
            }
            self.take_ready(runtime).map(Some)
        };
        while let Some(Some(mut task)) = pulse::wait(None, next) {
            if task.run(runtime) {
                self.tasks().push(task);
            }
        }
    }

    /// Takes the first task whose signals have their values.
    fn take_ready(&self, runtime: &Runtime) -> Option<T> {
        let mut tasks = self.tasks();
        let ready = tasks.iter().position(|task| {
            task.awaited()
                .iter()
                .all(|(handle, condition)| match runtime.signals.get(*handle) {
                    Some(signal) => condition.holds(signal.load()),
                    None => runtime.journal.fatal(format_args!(
                        "signal {handle:#x} was destroyed while it is awaited"
                    )),
                })
        });
        ready.map(|index| tasks.remove(index))
    }

    /// Ends the thread.
    fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        pulse::ring();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A thread that panicked has told it.
            let _ = thread.join();
        }
    }
}

/// Both threads.
#[derive(Default)]
pub(crate) struct Workers {
    handlers: Worker<HandlerTask>,
    copies: Worker<CopyTask>,
}

impl fmt::Debug for Workers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = (self.handlers.tasks().len(), self.copies.tasks().len());
        write!(formatter, "{} handlers, {} copies", counts.0, counts.1)
    }
}

impl Workers {
    /// Has a handler called once its signal has its value.
    pub(crate) fn add_handler(&self, task: HandlerTask, runtime: &Arc<Runtime>) -> Result<()> {
        self.handlers.add(task, runtime, |workers| &workers.handlers)
    }

    /// Has a copy done once its signals are zero.
    pub(crate) fn add_copy(&self, task: CopyTask, runtime: &Arc<Runtime>) -> Result<()> {
        self.copies.add(task, runtime, |workers| &workers.copies)
    }

    /// Ends both threads.
    pub(crate) fn end(&self) {
        self.handlers.end();
        self.copies.end();
    }
}
