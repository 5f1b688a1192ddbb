//! Packets that a program has written: asks the policy what launches run, and writes that to the queue. For a
//! launch that is not the first of its kind and is not timed it takes no lock and allocates nothing.

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
use crate::runtime::{Agent, KernelNeeds, PacketWriter, Queue, RegisterHandler, Runtime, Status};
use crate::timing;
use crate::variant::{MOST_GROUP_BYTES, Variant};

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

/// Is called with packets that the program has written, mostly one. Writes as many, and one more for each
/// launch that is timed.
unsafe extern "C" fn handler(
    packets: *const c_void,
    count: u64,
    _index: u64,
    agent: *mut c_void,
    writer: PacketWriter,
) {
    let agent = Agent(agent.addr() as u64);
    let given = packets.cast::<Packet>();
    // SAFETY: so many packets came.
    let read = |at: u64| unsafe { given.add(at as usize).read_unaligned() };
    // SAFETY: packets as the writer takes them. It is called once: earlier runtimes lose their place
    // otherwise.
    let write = |packets: &[Packet]| unsafe { writer(packets.as_ptr().cast(), packets.len() as u64) };
    if device_gate::is_closed() {
        // SAFETY: as they came.
        return unsafe { writer(packets, count) };
    }
    if count == 1 {
        let (packets, count) = in_place_of(agent, read(0));
        return write(&packets[..count]);
    }
    let all = (0..count).flat_map(|at| {
        let (packets, count) = in_place_of(agent, read(at));
        packets.into_iter().take(count)
    });
    write(&all.collect::<Vec<_>>());
}

/// What is written in the place of a packet: so many of two.
fn in_place_of(agent: Agent, packet: Packet) -> ([Packet; 2], usize) {
    let as_it_is = ([packet; 2], 1);
    let Some(kernel) = packet.kernel() else {
        return as_it_is;
    };
    let Found::Ours(state) = KERNELS.find(kernel.kernel_object as usize) else {
        return as_it_is;
    };
    // SAFETY: the packet is one that the device takes.
    let choice = guarded(BASE, || unsafe { choose(state, &kernel) });
    match (choice.entry, choice.ticket) {
        (None, 0) => as_it_is,
        _ => launch(agent, state, kernel, choice),
    }
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

/// What launches the code that was chosen.
fn launch(
    agent: Agent,
    state: &'static State,
    mut packet: KernelDispatch,
    choice: Choice<Entry>,
) -> ([Packet; 2], usize) {
    let variant = choice.entry.map(|Entry(variant)| variant);
    let is_first = variant.is_some_and(Variant::is_first_launch);
    if let Some(variant) = variant
        && let Some(group_segment) = group_segment(&packet, &state.device.needs, variant.needs())
    {
        packet.kernel_object = variant.needs().object;
        packet.group_segment = group_segment;
    }
    let timed = match choice.ticket {
        0 => None,
        ticket => timing::begin(agent, state, ticket, is_first),
    };
    let Some(signal) = timed else {
        if choice.ticket != 0 {
            // Before the packet is written: once the kernel has ended, the program may unload its image.
            // SAFETY: the ticket is from a choice for this kernel, and comes back once.
            guarded_on_foreign_thread((), || unsafe { state.finished(choice.ticket, None) });
        }
        return ([Packet::of_kernel(packet); 2], 1);
    };
    let completion = std::mem::replace(&mut packet.completion, signal);
    ([Packet::of_kernel(packet), Packet::barrier(completion)], 2)
}

/// Bytes of a workgroup's memory for a variant, with what the launch asks for behind the kernel's own.
/// `None`: more than there is.
fn group_segment(packet: &KernelDispatch, base: &KernelNeeds, variant: &KernelNeeds) -> Option<u32> {
    let more = packet.group_segment.saturating_sub(base.group_segment);
    let all = variant.group_segment.checked_add(more)?;
    (all <= packet.group_segment.max(MOST_GROUP_BYTES)).then_some(all)
}
