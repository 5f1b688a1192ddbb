//! Queues of a device: order, barriers, handlers, doorbells.

use std::ffi::c_void;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::ring::Ring;
use super::{Queue, Request};
use crate::abi::{Handle, PacketWriter, QUEUE_TYPE_MULTI};
use crate::code_object::CodeObject;
use crate::code_object::tests::KERNELS;
use crate::executable::{Executable, place};
use crate::isa::TargetId;
use crate::journal::Journal;
use crate::memory::{Kind, Pages};
use crate::packet::{PACKET_SIZE, Packet};
use crate::pulse;
use crate::runtime::{Runtime, UserData};
use crate::settings::Settings;
use crate::signal::{Condition, Signal, wait};

/// A runtime with one device, on which the image of `data/kernels.s` is loaded, and one queue.
struct Setup {
    runtime: Arc<Runtime>,
    queue: Arc<Queue>,
    /// Where the image is.
    base: u64,
    /// Arguments of kernel `add`.
    arguments: u64,
}

impl Setup {
    fn new(log: Option<&Path>, is_intercepted: bool) -> Self {
        let settings = Settings {
            devices: vec![TargetId::of_device("gfx90a").unwrap()],
            log: None,
            kernel_time: Duration::ZERO,
        };
        let runtime = Arc::new(Runtime::new(&settings, Journal::open(log).unwrap()));
        let agent = runtime.agents.all[1].handle;
        let code = Arc::new(CodeObject::parse(KERNELS).unwrap());
        let pages = place(&code).unwrap();
        let base = runtime
            .memory
            .areas()
            .add_pages(pages, Kind::Code { agent }, None);
        let mut tables = runtime.executables.write();
        let executable = tables.handle();
        let frozen = Executable {
            is_frozen: true,
            ..Executable::default()
        };
        tables.executables.insert(executable, frozen);
        tables.add(executable, agent, code, base);
        drop(tables);
        let request = Request {
            agent,
            size: 4,
            kind: QUEUE_TYPE_MULTI,
            callback: None,
            is_intercepted,
        };
        let queue = Queue::create(request, &runtime).unwrap();
        let arguments = arguments(&runtime, agent);
        Self {
            runtime,
            queue,
            base: base as u64,
            arguments,
        }
    }

    fn signal(&self, value: i64) -> (Handle, Arc<Signal>) {
        let handle = self.runtime.signals.add(Signal::new(value, None));
        (handle, self.runtime.signals.get(handle).unwrap())
    }

    /// Adds a packet, and rings the doorbell.
    fn add(&self, packet: &Packet) {
        let index = self.queue.ring.write.fetch_add(1, Ordering::SeqCst);
        pulse::wait(None, || {
            (index - self.queue.ring.read.load(Ordering::SeqCst) < 4).then_some(())
        });
        write(&self.queue.ring, index, packet);
        self.queue.ring_doorbell(index as i64, &self.runtime);
    }

    /// A launch of kernel `add`, which completes a signal.
    fn launch(&self, completion: Handle) -> Packet {
        let mut packet = Packet([0; PACKET_SIZE]);
        put(&mut packet, 0, &[2, 0x14, 1, 0, 64, 0, 1, 0, 1, 0]);
        for (offset, number) in [(12, 256_u32), (16, 1), (20, 1), (24, 16), (28, 128)] {
            put(&mut packet, offset, &number.to_le_bytes());
        }
        for (offset, number) in [(32, self.base + 0x6c0), (40, self.arguments), (56, completion)] {
            put(&mut packet, offset, &number.to_le_bytes());
        }
        packet
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        self.runtime.queues.end();
    }
}

/// Arguments of kernel `add` for 4 work-groups of 64, in memory for arguments.
fn arguments(runtime: &Runtime, agent: Handle) -> u64 {
    let mut pages = Pages::of_host(32).unwrap();
    let mut bytes = [0; 32];
    bytes[8] = 7;
    bytes[16] = 4;
    bytes[28] = 64;
    assert!(pages.write(0, &bytes));
    let kind = Kind::Pool {
        pool: 0,
        owner: agent,
        takes_arguments: true,
    };
    runtime.memory.areas().add_pages(pages, kind, Some(vec![agent])) as u64
}

fn put(packet: &mut Packet, offset: usize, bytes: &[u8]) {
    packet.0[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// Writes a packet into a ring of 4, as a program does.
fn write(ring: &Ring, index: u64, packet: &Packet) {
    let place = ring
        .base()
        .cast::<[u8; PACKET_SIZE]>()
        .wrapping_add(index as usize % 4);
    // SAFETY: the ring has room for 4 packets; this one was reserved.
    unsafe { place.write(packet.0) };
}

/// A barrier that waits for a signal.
fn barrier(awaited: Handle) -> Packet {
    let mut packet = Packet([0; PACKET_SIZE]);
    put(&mut packet, 0, &[3, 0x14]);
    put(&mut packet, 8, &awaited.to_le_bytes());
    packet
}

#[test]
fn what_is_behind_a_barrier_waits_for_its_signal() {
    let setup = Setup::new(None, false);
    let ((awaited, of_host), (done, of_device)) = (setup.signal(1), setup.signal(1));
    setup.add(&barrier(awaited));
    setup.add(&setup.launch(done));
    pulse::wait(None, || {
        setup.queue.is_blocked.load(Ordering::SeqCst).then_some(())
    });
    assert_eq!(of_device.load(), 1);
    of_host.complete();
    assert_eq!(wait(&of_device, Condition::Equal(0), u64::MAX), 0);
    assert_eq!(of_device.times(), None, "nobody wanted times");
}

#[test]
fn a_queue_takes_more_packets_than_it_has_room_for() {
    let setup = Setup::new(None, false);
    let (done, signal) = setup.signal(100);
    for _ in 0..100 {
        setup.add(&setup.launch(done));
    }
    assert_eq!(wait(&signal, Condition::Equal(0), u64::MAX), 0);
    assert_eq!(setup.runtime.journal.kernels.load(Ordering::Relaxed), 100);
    assert_eq!(setup.queue.end(), 0);
}

#[test]
fn a_queue_with_a_profiler_tells_times() {
    let setup = Setup::new(None, false);
    let (done, signal) = setup.signal(1);
    setup.queue.is_profiled.store(true, Ordering::SeqCst);
    setup.add(&setup.launch(done));
    wait(&signal, Condition::Equal(0), u64::MAX);
    let (start, end) = signal.times().unwrap();
    assert!(start > 0 && end > start);
}

#[test]
fn a_queue_that_waits_can_be_ended() {
    let setup = Setup::new(None, false);
    let (awaited, _) = setup.signal(1);
    setup.add(&barrier(awaited));
    setup.add(&barrier(awaited));
    assert_eq!(setup.queue.end(), 2, "packets that were not finished");
}

#[test]
fn doorbells_are_rung_for_packets_that_are_there() {
    let told = |ring: &Ring, value, is_single| ring.note_doorbell(value, is_single).unwrap_err();
    let ring = Ring::new(4).unwrap();
    assert_eq!(
        told(&ring, 0, false),
        "the doorbell was rung for packet 0, and 0 were reserved"
    );
    ring.write.store(5, Ordering::SeqCst);
    assert_eq!(
        told(&ring, -1, false),
        "the doorbell was rung for packet -1, and 5 were reserved"
    );
    assert_eq!(
        told(&ring, 4, false),
        "packet 4 overwrites one that was not taken: 0 were, the queue has room for 4"
    );
    assert_eq!(
        told(&ring, 3, true),
        "the doorbell was rung for packet 3, which is not written"
    );
    assert_eq!(
        told(&ring, 2, true),
        "the doorbell was rung for packet 2 after packet 3, and one thread alone adds packets"
    );
}

#[test]
fn a_packet_is_taken_when_it_is_written_and_its_doorbell_rung() {
    let ring = Ring::new(4).unwrap();
    ring.write.store(2, Ordering::SeqCst);
    write(&ring, 0, &barrier(1));
    assert!(ring.take().is_none(), "the doorbell was not rung");
    ring.note_doorbell(1, false).unwrap();
    assert_eq!(ring.take().map(|(index, _)| index), Some(0));
    assert!(
        ring.take().is_none() && ring.is_stuck(),
        "packet 1 is not written"
    );
    write(&ring, 1, &barrier(1));
    assert_eq!(ring.take().map(|(index, _)| index), Some(1));
}

/// What handlers of a test have seen, in their order: which handler, index and kernel object.
static SEEN: Mutex<Vec<(char, u64, u64)>> = Mutex::new(Vec::new());
/// The kernel that the first handler puts in the place of the program's.
static OTHER: AtomicU64 = AtomicU64::new(0);

/// Reads the one packet of a handler.
fn seen(name: char, packets: *const c_void, count: u64, index: u64) -> Packet {
    assert_eq!((count, packets.addr() % PACKET_SIZE), (1, 0));
    // SAFETY: one packet lies there.
    let packet = Packet(unsafe { packets.cast::<[u8; PACKET_SIZE]>().read() });
    let object = u64::from_le_bytes(std::array::from_fn(|at| packet.0[32 + at]));
    SEEN.lock().unwrap().push((name, index, object));
    packet
}

/// Launches another kernel first, which has no arguments and completes nothing.
extern "C" fn replaces(packets: *const c_void, count: u64, index: u64, _: *mut c_void, writer: PacketWriter) {
    let mut packet = seen('r', packets, count, index);
    let unchanged = packet.0;
    put(&mut packet, 2, &[2, 0, 32, 0, 2]);
    put(&mut packet, 16, &[2]);
    put(&mut packet, 32, &OTHER.load(Ordering::SeqCst).to_le_bytes());
    put(&mut packet, 40, &[0; 8]);
    put(&mut packet, 56, &[0; 8]);
    writer([packet.0, unchanged].as_ptr().cast(), 2);
}

/// Passes on what it sees, and counts in its data.
extern "C" fn counts(
    packets: *const c_void,
    count: u64,
    index: u64,
    data: *mut c_void,
    writer: PacketWriter,
) {
    seen('c', packets, count, index);
    // SAFETY: the test has registered it with this.
    unsafe { &*data.cast::<AtomicI32>() }.fetch_add(1, Ordering::SeqCst);
    writer(packets, count);
}

#[test]
fn handlers_see_packets_before_the_device_and_change_them() {
    let folder = std::env::temp_dir().join(format!("virtual-hsa-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let log = folder.join("log");
    let calls = AtomicI32::new(0);
    let setup = Setup::new(Some(&log), true);
    OTHER.store(setup.base + 0x700, Ordering::SeqCst);
    setup
        .queue
        .intercept(replaces, UserData(std::ptr::null_mut()))
        .unwrap();
    let data = UserData((&raw const calls).cast_mut().cast());
    setup.queue.intercept(counts, data).unwrap();
    let (done, signal) = setup.signal(2);
    setup.add(&setup.launch(done));
    setup.add(&setup.launch(done));
    assert_eq!(wait(&signal, Condition::Equal(0), u64::MAX), 0);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    let object = setup.base + 0x6c0;
    let expected = [
        ('c', 0, object),
        ('r', 0, object),
        ('c', 1, object),
        ('r', 1, object),
    ];
    assert_eq!(*SEEN.lock().unwrap(), expected);
    let log = fs::read_to_string(&log).unwrap();
    let kernels: Vec<_> = log
        .lines()
        .filter_map(|line| line.strip_prefix("kernel: "))
        .collect();
    let names: Vec<_> = kernels
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(names, ["fixed", "add", "fixed", "add"]);
    let fields = "grid=256x1x1 workgroup=64x1x1 private=16 group=128 kernarg=32 \
                  explicit=000000000000000007000000 image=0";
    assert!(kernels[1].contains(fields), "{}", kernels[1]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_queue_that_was_not_made_for_it_takes_no_handlers() {
    let setup = Setup::new(None, false);
    let refused = setup.queue.intercept(replaces, UserData(std::ptr::null_mut()));
    assert!(
        refused
            .unwrap_err()
            .fault
            .unwrap()
            .contains("hsa_amd_queue_intercept_create")
    );
}
