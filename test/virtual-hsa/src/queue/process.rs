//! What the device does with a packet: it checks it, waits where it says so, and counts down its signal. It
//! executes nothing.

use std::fmt::Write as _;
use std::ptr;
use std::sync::atomic::Ordering;
use std::thread;

use super::{Queue, lock};
use crate::abi::{Handle, Status};
use crate::executable::FoundKernel;
use crate::memory::Kind;
use crate::packet::{self, Barrier, Device, Dispatch, Packet, Work};
use crate::pulse;
use crate::runtime::{Runtime, ticks};

/// The body of a queue's thread.
pub(super) fn run(queue: &Queue, runtime: &Runtime) {
    let next = || {
        if queue.is_ending.load(Ordering::SeqCst) {
            return Some(None);
        }
        next_packet(queue).map(Some)
    };
    while let Some(Some((index, packet))) = pulse::wait(None, next) {
        runtime.journal.packets.fetch_add(1, Ordering::Relaxed);
        if process(queue, index, &packet, runtime) {
            queue.unfinished.fetch_sub(1, Ordering::SeqCst);
            pulse::ring();
        }
    }
}

/// Takes the next packet, which is counted as unfinished.
fn next_packet(queue: &Queue) -> Option<(u64, Packet)> {
    if queue.interceptors.is_some() {
        return lock(&queue.written).pop_front();
    }
    // Counted first, so that it is never taken for finished.
    queue.unfinished.fetch_add(1, Ordering::SeqCst);
    let taken = queue.ring.take();
    if taken.is_none() {
        queue.unfinished.fetch_sub(1, Ordering::SeqCst);
    }
    taken
}

/// Processes a packet. `false`: the queue was ended while it waited.
fn process(queue: &Queue, index: u64, packet: &Packet, runtime: &Runtime) -> bool {
    let fail = |status, what: &str| -> ! { queue.fail(status, &format!("packet {index}: {what}"), runtime) };
    let view = View {
        agent: queue.agent,
        runtime,
    };
    let completion = match packet::check(packet, &view) {
        Err(fault) => fail(fault.status(), &fault.to_string()),
        Ok(Work::Dispatch(dispatch)) => {
            let start = ticks();
            note(queue, &dispatch, runtime);
            thread::sleep(runtime.kernel_time);
            if let Err(fault) = packet::check_end(&dispatch, &view) {
                fail(fault.status(), &fault.to_string());
            }
            if queue.is_profiled.load(Ordering::SeqCst)
                && let Some(signal) = runtime.signals.get(dispatch.completion)
            {
                signal.set_times(start, ticks().max(start + 1));
            }
            dispatch.completion
        }
        Ok(Work::Barrier(barrier)) => match wait(queue, &barrier, runtime) {
            Waited::Done => barrier.completion,
            Waited::Ended => return false,
            Waited::Destroyed(handle) => fail(
                Status::ERROR_INVALID_SIGNAL,
                &format!("signal {handle:#x} was destroyed while the packet waited for it"),
            ),
        },
    };
    if completion != 0 {
        match runtime.signals.get(completion) {
            Some(signal) => signal.complete(),
            None => fail(
                Status::ERROR_INVALID_SIGNAL,
                &format!(
                    "its completion_signal {completion:#x} was destroyed before the packet was finished"
                ),
            ),
        }
    }
    true
}

/// Adds a launch to the log.
fn note(queue: &Queue, dispatch: &Dispatch, runtime: &Runtime) {
    runtime.journal.kernels.fetch_add(1, Ordering::Relaxed);
    let image = &dispatch.kernel.image;
    let kernel = &dispatch.kernel.kernel;
    let explicit = &dispatch.arguments[..kernel.metadata.explicit_size as usize];
    let mut hex = String::new();
    for byte in explicit {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
    }
    let join = |sizes: [u32; 3]| sizes.map(|size| size.to_string()).join("x");
    runtime.journal.line(format_args!(
        "kernel: {} queue={} grid={} workgroup={} private={} group={} kernarg={} explicit={hex} image={} hash={} \
         executable={:#x}",
        kernel.metadata.name,
        queue.id,
        join(dispatch.grid),
        join(dispatch.workgroup),
        dispatch.private_size,
        dispatch.group_size,
        dispatch.arguments.len(),
        image.number,
        image.code.hash,
        dispatch.kernel.executable,
    ));
}

/// How a wait ended.
enum Waited {
    Done,
    /// The queue was ended.
    Ended,
    Destroyed(Handle),
}

fn wait(queue: &Queue, barrier: &Barrier, runtime: &Runtime) -> Waited {
    let look = || {
        if queue.is_ending.load(Ordering::SeqCst) {
            return Some(Waited::Ended);
        }
        let mut met = 0;
        for (handle, condition, mask) in &barrier.signals {
            let Some(signal) = runtime.signals.get(*handle) else {
                return Some(Waited::Destroyed(*handle));
            };
            met += usize::from(condition.holds(signal.load() & mask));
        }
        let is_done = met == barrier.signals.len() || (barrier.any && met > 0);
        if !is_done && !queue.is_blocked.swap(true, Ordering::SeqCst) {
            // Whoever ends the queue may wait for this.
            pulse::ring();
        }
        is_done.then_some(Waited::Done)
    };
    let waited = pulse::wait(None, look).unwrap_or(Waited::Ended);
    queue.is_blocked.store(false, Ordering::SeqCst);
    waited
}

/// What packets of a queue are checked against.
struct View<'a> {
    agent: Handle,
    runtime: &'a Runtime,
}

impl Device for View<'_> {
    fn agent(&self) -> Handle {
        self.agent
    }

    fn kernel(&self, object: u64) -> Result<FoundKernel, Option<String>> {
        self.runtime.executables.read().kernel_at(object)
    }

    fn arguments(&self, address: u64, size: u32) -> Result<Vec<u8>, String> {
        let areas = self.runtime.memory.areas();
        let (address, size) = (address as usize, size as usize);
        let area = areas.check(address, size, self.agent)?;
        if !matches!(
            area.kind,
            Kind::Pool {
                takes_arguments: true,
                ..
            }
        ) {
            return Err(format!("{address:#x} is in no pool for arguments"));
        }
        let mut bytes = vec![0_u8; size];
        let from = ptr::with_exposed_provenance::<u8>(area.inside(address));
        // SAFETY: the area holds that many bytes from there, and lives while it is locked. The program does
        // not write arguments of a packet that it has handed over.
        unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), size) };
        Ok(bytes)
    }

    fn is_live(&self, signal: Handle) -> bool {
        self.runtime.signals.get(signal).is_some()
    }
}
