//! Packets of a queue, 64 bytes each.
//!
//! Source: "Architected Queuing Language packets" of the HSA Runtime Programmer's Reference Manual, `hsa.h`.

use crate::runtime::Signal;

/// `HSA_PACKET_TYPE_KERNEL_DISPATCH` and `HSA_PACKET_TYPE_BARRIER_AND`.
const KERNEL_DISPATCH: u16 = 2;
const BARRIER_AND: u16 = 3;
/// Bits of the type in a header.
const TYPE_BITS: u16 = 0xff;
/// The bit of a header that has the packet wait for all before it.
const WAITS: u16 = 1 << 8;
/// Where the scopes of the fences lie in a header, and the number of the widest, `HSA_FENCE_SCOPE_SYSTEM`.
const ACQUIRE_SHIFT: u32 = 9;
const RELEASE_SHIFT: u32 = 11;
const SYSTEM_SCOPE: u16 = 2;

/// A packet of any kind.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) union Packet {
    header: u16,
    kernel: KernelDispatch,
    barrier: BarrierAnd,
}

/// `hsa_kernel_dispatch_packet_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct KernelDispatch {
    header: u16,
    /// The number of directions.
    setup: u16,
    /// Work-items of a workgroup, in each direction.
    pub(crate) workgroup: [u16; 3],
    reserved: u16,
    /// Work-items in each direction.
    pub(crate) grid: [u32; 3],
    /// Bytes of a work-item's stack.
    pub(crate) private_segment: u32,
    /// Bytes of a workgroup's memory.
    pub(crate) group_segment: u32,
    /// Address of the kernel's descriptor on the device.
    pub(crate) kernel_object: u64,
    /// Address of the arguments, which the host can read.
    pub(crate) arguments: *const u64,
    reserved_2: u64,
    /// Is decremented when the kernel has ended; 0: none.
    pub(crate) completion: Signal,
}

/// `hsa_barrier_and_packet_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct BarrierAnd {
    header: u16,
    reserved: u16,
    reserved_1: u32,
    dependencies: [Signal; 5],
    reserved_2: u64,
    completion: Signal,
}

const _: () =
    assert!(size_of::<Packet>() == 64 && size_of::<KernelDispatch>() == 64 && size_of::<BarrierAnd>() == 64);

impl Packet {
    /// One that launches a kernel.
    pub(crate) const fn of_kernel(kernel: KernelDispatch) -> Self {
        Self { kernel }
    }

    /// One that has `completion` decremented once all packets before it have ended. It depends on no signal:
    /// one that is used again could not be told from one that has not come yet.
    pub(crate) const fn barrier(completion: Signal) -> Self {
        Self {
            barrier: BarrierAnd {
                header: BARRIER_AND | WAITS | SYSTEM_SCOPE << ACQUIRE_SHIFT | SYSTEM_SCOPE << RELEASE_SHIFT,
                reserved: 0,
                reserved_1: 0,
                dependencies: [Signal(0); 5],
                reserved_2: 0,
                completion,
            },
        }
    }

    /// What it launches, if it launches a kernel.
    pub(crate) fn kernel(&self) -> Option<KernelDispatch> {
        // SAFETY: each kind of packet begins with the header, and all bytes are there, so each is a number.
        unsafe { (self.header & TYPE_BITS == KERNEL_DISPATCH).then_some(self.kernel) }
    }
}
