//! Batches of packets: asks the policy what launches run, and writes that to the queue. Takes no lock and
//! allocates nothing where nothing is timed.

use std::ffi::c_void;
use std::ptr;

use offloom_jit_policy::gpu_launch::Words;
use offloom_jit_policy::kernel_on_device::KernelOnDevice;
use offloom_jit_policy::process::device_gate;
use offloom_jit_policy::process::guard::{guarded, guarded_on_foreign_thread};
use offloom_jit_policy::process::handle_table::Found;
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::counts_launches;
use offloom_jit_policy::variant::Choice;

use crate::backend::{Entry, Hsa};
use crate::image::KERNELS;
use crate::packet::{KernelDispatch, Packet};
use crate::runtime::{Agent, PacketWriter, Queue, RegisterHandler, Runtime, Status};
use crate::timing;

type State = KernelOnDevice<Hsa>;

/// Has the packets of a queue of the device seen. Where the runtime refuses, its launches stay as they are.
///
/// # Safety
/// The queue is one that the runtime has just made for a handler.
pub(crate) unsafe fn begin(
    runtime: &'static Runtime,
    agent: Agent,
    queue: *mut Queue,
    register: RegisterHandler,
) {
    // SAFETY: as the caller promises. The device's handle is passed by value, in the place of an address.
    let registered = unsafe { register(queue, handler, ptr::without_provenance_mut(agent.0 as usize)) };
    match registered {
        Status::SUCCESS => timing::prepare(runtime, queue),
        status => report::failure(format_args!(
            "AMD's runtime does not let a queue be intercepted ({status:?}): its kernels stay ahead of time"
        )),
    }
}

/// Is called with packets that the program has written. As many are written as came, and one more for each
/// launch that is timed.
unsafe extern "C" fn handler(
    packets: *const c_void,
    count: u64,
    _index: u64,
    agent: *mut c_void,
    writer: PacketWriter,
) {
    let agent = Agent(agent.addr() as u64);
    let packets = packets.cast::<Packet>();
    let count = count as usize;
    let mut written = 0;
    let pass = |from: usize, to: usize| {
        if from < to {
            // SAFETY: so many packets came, and the writer takes them as they are.
            unsafe { writer(packets.add(from).cast(), (to - from) as u64) };
        }
    };
    if !device_gate::is_closed() {
        for at in 0..count {
            // SAFETY: so many packets came.
            let packet = unsafe { packets.add(at).read_unaligned() };
            let Some(kernel) = packet.kernel() else { continue };
            let Found::Ours(state) = KERNELS.find(kernel.kernel_object as usize) else {
                continue;
            };
            // SAFETY: the packet is one that the device takes.
            let choice = guarded(BASE, || unsafe { choose(state, &kernel) });
            if let (None, 0) = (choice.entry, choice.ticket) {
                continue;
            }
            pass(written, at);
            written = at + 1;
            launch(agent, state, kernel, choice, writer);
        }
    }
    pass(written, count);
}

const BASE: Choice<Entry> = Choice {
    entry: None,
    ticket: 0,
};

/// What a launch runs.
///
/// # Safety
/// The packet is one that the device takes.
unsafe fn choose(state: &'static State, packet: &KernelDispatch) -> Choice<Entry> {
    let ([workgroup, 1, 1], [items, 1, 1]) = (packet.workgroup, packet.grid) else {
        return BASE;
    };
    let threads = u32::from(workgroup);
    let parameters = state.kernel.parameter_count as usize;
    let has_all = packet.arguments.is_aligned()
        && !packet.arguments.is_null()
        && parameters * size_of::<u64>() <= state.device.needs.arguments as usize;
    if threads == 0 || items % threads != 0 || !has_all {
        return BASE;
    }
    let words = Words {
        // SAFETY: arguments are written before the packet, in memory that the host reads; each is a word.
        words: unsafe { std::slice::from_raw_parts(packet.arguments, parameters) },
        blocks: items / threads,
        threads,
    };
    // Where they are counted they are chosen.
    let settled = (!counts_launches()).then(|| state.settled(words)).flatten();
    settled.unwrap_or_else(|| state.choose_and_count(words))
}

/// Writes what launches the code that was chosen.
fn launch(
    agent: Agent,
    state: &'static State,
    mut packet: KernelDispatch,
    choice: Choice<Entry>,
    writer: PacketWriter,
) {
    let is_first = choice
        .entry
        .is_some_and(|Entry(variant)| variant.is_first_launch());
    if let Some(Entry(variant)) = choice.entry {
        let (needs, base) = (variant.needs(), &state.device.needs);
        packet.kernel_object = needs.object;
        packet.private_segment = packet.private_segment.max(needs.private_segment);
        // What the launch asks for lies behind what the kernel has.
        let more = packet.group_segment.saturating_sub(base.group_segment);
        packet.group_segment = needs.group_segment + more;
    }
    let write = |packets: &[Packet]| {
        // SAFETY: packets as the writer takes them.
        unsafe { writer(packets.as_ptr().cast(), packets.len() as u64) };
    };
    let timed = match choice.ticket {
        0 => None,
        ticket => timing::begin(agent, state, ticket, is_first),
    };
    match timed {
        Some(signal) => {
            let completion = std::mem::replace(&mut packet.completion, signal);
            write(&[Packet::of_kernel(packet), Packet::barrier(signal, completion)]);
        }
        None => {
            write(&[Packet::of_kernel(packet)]);
            if choice.ticket != 0 {
                // SAFETY: the ticket is from a choice for this kernel, and comes back once.
                guarded_on_foreign_thread((), || unsafe { state.finished(choice.ticket, None) });
            }
        }
    }
}
