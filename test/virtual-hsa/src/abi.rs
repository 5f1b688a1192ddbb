//! Numbers and records of the interface: the HSA Runtime Programmer's Reference Manual 1.2, and AMD's
//! extensions of it (`hsa_ext_amd.h`).
//!
//! Handles are records of one 64-bit number in C, which is passed as the number is.

pub(crate) mod attribute;
mod status;

use std::ffi::c_void;

pub(crate) use status::Status;

/// `hsa_agent_t`, `hsa_isa_t`, `hsa_signal_t`, `hsa_executable_t` and all others.
pub(crate) type Handle = u64;

/// `hsa_queue_t`, as programs see it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawQueue {
    pub(crate) kind: u32,
    pub(crate) features: u32,
    pub(crate) base_address: *mut c_void,
    pub(crate) doorbell_signal: Handle,
    pub(crate) size: u32,
    pub(crate) reserved1: u32,
    pub(crate) id: u64,
}

/// `hsa_queue_type_t`: several threads may add packets.
pub(crate) const QUEUE_TYPE_MULTI: u32 = 0;
/// One thread alone adds packets.
pub(crate) const QUEUE_TYPE_SINGLE: u32 = 1;
/// `HSA_QUEUE_FEATURE_KERNEL_DISPATCH`.
pub(crate) const QUEUE_FEATURE_KERNEL_DISPATCH: u32 = 1;

/// `hsa_amd_pointer_info_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointerInfo {
    /// Bytes that the caller has room for, the record's size at most.
    pub(crate) size: u32,
    pub(crate) kind: u32,
    pub(crate) agent_base: *mut c_void,
    pub(crate) host_base: *mut c_void,
    pub(crate) bytes: usize,
    pub(crate) user_data: *mut c_void,
    pub(crate) owner: Handle,
    pub(crate) global_flags: u32,
}

/// `hsa_amd_pointer_type_t`.
pub(crate) const POINTER_UNKNOWN: u32 = 0;
/// Memory of a pool.
pub(crate) const POINTER_HSA: u32 = 1;
/// Memory of the program that was locked.
pub(crate) const POINTER_LOCKED: u32 = 2;

/// `hsa_amd_profiling_dispatch_time_t`, in ticks of the system's clock.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct DispatchTime {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// What `hsa_queue_create` has called for errors: status, queue, data of the program.
pub(crate) type QueueCallback = extern "C" fn(u32, *mut RawQueue, *mut c_void);

/// `hsa_amd_signal_handler`: ends with whether it is to be called again.
pub(crate) type SignalHandler = extern "C" fn(i64, *mut c_void) -> bool;

/// `hsa_amd_queue_intercept_packet_writer`: packets, and how many.
pub(crate) type PacketWriter = extern "C" fn(*const c_void, u64);

/// `hsa_amd_queue_intercept_handler`: packets, how many, index of the program's packet, data, writer.
pub(crate) type InterceptHandler = extern "C" fn(*const c_void, u64, u64, *mut c_void, PacketWriter);
