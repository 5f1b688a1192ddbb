//! Queues, and the threads that process their packets.
//!
//! | module | job |
//! | --- | --- |
//! | [`ring`] | the packets that the program writes, the indices, the doorbell |
//! | [`intercept`] | handlers that see packets before the device does |
//! | [`process`](mod@process) | what the device does with a packet |

mod intercept;
mod process;
mod ring;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::thread::{self, JoinHandle};

use crate::abi::{Handle, QUEUE_FEATURE_KERNEL_DISPATCH, QUEUE_TYPE_SINGLE, QueueCallback, RawQueue, Status};
use crate::packet::Packet;
use crate::pulse;
use crate::runtime::{Failure, Result, Runtime, UserData};
use crate::signal::Signal;
use intercept::Interceptors;
use ring::Ring;

/// What a program wants of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) agent: Handle,
    /// Packets.
    pub(crate) size: u32,
    /// `hsa_queue_type_t`.
    pub(crate) kind: u32,
    /// What is called for errors, with its data.
    pub(crate) callback: Option<(QueueCallback, UserData)>,
    /// Whether handlers may see packets before the device does.
    pub(crate) is_intercepted: bool,
}

/// A queue.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The record that the program has.
    raw: RawPointer,
    /// The handle of its doorbell.
    doorbell: Handle,
    pub(crate) id: u64,
    pub(crate) agent: Handle,
    is_single: bool,
    callback: Option<(QueueCallback, UserData)>,
    ring: Ring,
    interceptors: Option<Interceptors>,
    /// Packets that the last handler has written, with the index of the program's packet.
    written: Mutex<VecDeque<(u64, Packet)>>,
    /// Whether kernels' times go into their signals.
    pub(crate) is_profiled: AtomicBool,
    is_ending: AtomicBool,
    /// Whether the device waits for a barrier's signals.
    is_blocked: AtomicBool,
    /// Packets that the device has not finished.
    unfinished: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The record of a queue, which lies where the program was told until the queue is destroyed.
#[derive(Debug)]
struct RawPointer(*mut RawQueue);

// SAFETY: the record is only read, and only its address is passed on.
unsafe impl Send for RawPointer {}
// SAFETY: as above.
unsafe impl Sync for RawPointer {}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: `create` has made it of a box, and this queue alone knows it.
        drop(unsafe { Box::from_raw(self.raw.0) });
    }
}

impl Queue {
    /// A queue with its thread.
    pub(crate) fn create(request: Request, runtime: &Arc<Runtime>) -> Result<Arc<Self>> {
        let ring = Ring::new(request.size).ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
        let id = runtime.queues.made.fetch_add(1, Ordering::Relaxed);
        let queue = Arc::new_cyclic(|weak: &Weak<Self>| {
            let doorbell = runtime.signals.add(Signal::new(-1, Some(weak.clone())));
            let raw = RawQueue {
                kind: request.kind,
                features: QUEUE_FEATURE_KERNEL_DISPATCH,
                base_address: ring.base(),
                doorbell_signal: doorbell,
                size: request.size,
                reserved1: 0,
                id,
            };
            Self {
                raw: RawPointer(Box::into_raw(Box::new(raw))),
                doorbell,
                id,
                agent: request.agent,
                is_single: request.kind == QUEUE_TYPE_SINGLE,
                callback: request.callback,
                ring,
                interceptors: request.is_intercepted.then(Interceptors::default),
                written: Mutex::default(),
                is_profiled: AtomicBool::new(false),
                is_ending: AtomicBool::new(false),
                is_blocked: AtomicBool::new(false),
                unfinished: AtomicU64::new(0),
                thread: Mutex::new(None),
            }
        });
        let (of_thread, its_runtime) = (Arc::clone(&queue), Arc::clone(runtime));
        let spawned = thread::Builder::new().spawn(move || process::run(&of_thread, &its_runtime));
        *lock(&queue.thread) = Some(spawned.map_err(|_| Failure::from(Status::ERROR_OUT_OF_RESOURCES))?);
        let mut live = runtime
            .queues
            .live
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        live.insert(queue.raw().addr(), Arc::clone(&queue));
        runtime.journal.line(format_args!(
            "queue: id={id} agent={} size={} {}",
            runtime.device(queue.agent)?,
            request.size,
            if request.is_intercepted {
                "intercepted"
            } else {
                "plain"
            },
        ));
        Ok(queue)
    }

    /// The record that the program has.
    pub(crate) fn raw(&self) -> *mut RawQueue {
        self.raw.0
    }

    /// The packets that the program writes, and their indices.
    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Rings the doorbell: the packet of this index is written.
    pub(crate) fn ring_doorbell(self: &Arc<Self>, value: i64, runtime: &Runtime) {
        if let Err(what) = self.ring.note_doorbell(value, self.is_single) {
            self.fail(Status::ERROR_INVALID_ARGUMENT, &what, runtime);
        }
        match &self.interceptors {
            Some(interceptors) => interceptors.run(self, runtime),
            None => pulse::ring(),
        }
    }

    /// Adds a handler that sees packets before those that were added earlier.
    pub(crate) fn intercept(&self, handler: crate::abi::InterceptHandler, data: UserData) -> Result<()> {
        let text = "the queue was not made by hsa_amd_queue_intercept_create";
        let interceptors = self.interceptors.as_ref();
        interceptors
            .ok_or_else(|| Failure::fault(Status::ERROR_INVALID_QUEUE, text))?
            .add(handler, data);
        Ok(())
    }

    /// Gives packets to the device.
    fn submit(&self, index: u64, packets: &[Packet]) {
        lock(&self.written).extend(packets.iter().map(|packet| (index, *packet)));
        self.unfinished.fetch_add(packets.len() as u64, Ordering::SeqCst);
        pulse::ring();
    }

    /// Tells what is wrong with a queue, as its callback is told, and ends the process.
    fn fail(&self, status: Status, what: &str, runtime: &Runtime) -> ! {
        runtime.journal.fault(format_args!("queue {}: {what}", self.id));
        runtime.journal.summary("ended by a fault");
        if let Some((callback, data)) = self.callback {
            callback(status.0, self.raw(), data.0);
        }
        crate::journal::end_process()
    }

    /// Waits until the device has nothing to do, or waits itself, and ends its thread. Ends with how many
    /// packets are left.
    pub(crate) fn end(&self) -> u64 {
        pulse::wait(None, || {
            let is_blocked = self.is_blocked.load(Ordering::SeqCst) || self.ring.is_stuck();
            (is_blocked || self.is_ending.load(Ordering::SeqCst) || self.unfinished() == 0).then_some(())
        });
        self.is_ending.store(true, Ordering::SeqCst);
        pulse::ring();
        if let Some(thread) = lock(&self.thread).take() {
            // A thread that panicked has told it.
            let _ = thread.join();
        }
        self.unfinished()
    }

    /// Packets whose doorbell was rung and that the device has not finished.
    fn unfinished(&self) -> u64 {
        let waiting = if self.interceptors.is_some() {
            0
        } else {
            self.ring.waiting()
        };
        waiting + self.unfinished.load(Ordering::SeqCst)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The live queues, by the address of the record that the program has.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    live: RwLock<HashMap<usize, Arc<Queue>>>,
    made: AtomicU64,
}

impl Queues {
    /// The queue of a record.
    pub(crate) fn get(&self, raw: *const RawQueue) -> Result<Arc<Queue>> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let queue = live.get(&raw.addr()).cloned();
        queue.ok_or_else(|| Failure::fault(Status::ERROR_INVALID_QUEUE, format!("{raw:p} is no queue")))
    }

    /// Destroys a queue.
    pub(crate) fn destroy(&self, raw: *const RawQueue, runtime: &Runtime) -> Result<()> {
        let queue = self.get(raw)?;
        let left = queue.end();
        self.live
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&raw.addr());
        runtime.signals.remove(queue.doorbell);
        if left != 0 {
            let text = format!(
                "queue {} was destroyed with {left} packets that were not finished",
                queue.id
            );
            return Err(Failure::fault(Status::ERROR_INVALID_QUEUE, text));
        }
        Ok(())
    }

    pub(crate) fn count(&self) -> usize {
        self.live.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Ends the threads of all queues.
    pub(crate) fn end(&self) {
        let live = std::mem::take(&mut *self.live.write().unwrap_or_else(PoisonError::into_inner));
        for queue in live.into_values() {
            queue.end();
        }
    }
}
