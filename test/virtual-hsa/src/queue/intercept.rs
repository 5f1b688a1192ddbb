//! Handlers that see packets before the device does. As AMD's runtime has it: they run on the thread that
//! rings the doorbell, packet by packet, the last one first; each passes on what it wants by the writer, to
//! the one that was registered before it, or to the device.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use super::{Queue, lock};
use crate::abi::{InterceptHandler, Status};
use crate::packet::{PACKET_SIZE, Packet};
use crate::runtime::{self, Runtime, UserData};

/// The handlers of a queue.
#[derive(Debug, Default)]
pub(super) struct Interceptors {
    handlers: Mutex<Vec<(InterceptHandler, UserData)>>,
    /// Held while packets are handled, so that they reach the device in their order.
    turn: Mutex<()>,
}

/// What a handler's thread is at.
#[derive(Clone)]
struct Cursor {
    queue: Arc<Queue>,
    /// Index of the program's packet.
    index: u64,
    /// How many handlers packets have yet to pass.
    left: usize,
}

thread_local! {
    static CURSOR: RefCell<Option<Cursor>> = const { RefCell::new(None) };
}

/// A packet where handlers may expect it: at a multiple of its size.
#[repr(C, align(64))]
struct Aligned([u8; PACKET_SIZE]);

impl Interceptors {
    pub(super) fn add(&self, handler: InterceptHandler, data: UserData) {
        lock(&self.handlers).push((handler, data));
    }

    /// Has the handlers see all packets that are written.
    pub(super) fn run(&self, queue: &Arc<Queue>, runtime: &Runtime) {
        if CURSOR.with_borrow(Option::is_some) {
            let what = "a handler of intercepted packets rings the doorbell of an intercepted queue";
            queue.fail(Status::ERROR_INVALID_QUEUE, what, runtime);
        }
        let _turn = lock(&self.turn);
        while let Some((index, packet)) = queue.ring.take() {
            // The handlers may read it only while they run.
            let packet = Aligned(packet.0);
            let first = Cursor {
                queue: Arc::clone(queue),
                index,
                left: lock(&self.handlers).len(),
            };
            self.pass_on(&first, (&raw const packet).cast(), 1);
        }
        CURSOR.set(None);
    }

    /// Passes packets to the next handler, or to the device.
    fn pass_on(&self, at: &Cursor, packets: *const c_void, count: u64) {
        let Some(left) = at.left.checked_sub(1) else {
            at.queue.submit(at.index, &read(packets, count));
            return;
        };
        let (handler, data) = lock(&self.handlers)[left];
        CURSOR.set(Some(Cursor { left, ..at.clone() }));
        handler(packets, count, at.index, data.0, write_packets);
        CURSOR.set(Some(at.clone()));
    }
}

/// `hsa_amd_queue_intercept_packet_writer`.
extern "C" fn write_packets(packets: *const c_void, count: u64) {
    let at = CURSOR.with_borrow(Clone::clone);
    let interceptors = at.as_ref().and_then(|at| at.queue.interceptors.as_ref());
    if let (Some(at), Some(interceptors)) = (&at, interceptors) {
        interceptors.pass_on(at, packets, count);
    } else if let Ok(runtime) = runtime::current() {
        runtime
            .journal
            .fatal("the writer of intercepted packets was called outside of a handler");
    }
}

/// Packets of a handler.
fn read(packets: *const c_void, count: u64) -> Vec<Packet> {
    let packets = packets.cast::<[u8; PACKET_SIZE]>();
    // SAFETY: the handler says that so many packets lie there.
    (0..count as usize)
        .map(|index| Packet(unsafe { packets.wrapping_add(index).read() }))
        .collect()
}
