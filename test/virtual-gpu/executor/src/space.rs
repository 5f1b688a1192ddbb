//! State spaces and the generic addresses of what is not in global memory.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where an instruction's addresses lie.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Space {
    Generic,
    /// Global and constant memory: generic addresses and those of the space are the same.
    Global,
    Shared,
    Local,
    /// The parameters of a kernel.
    Parameter,
}

/// Generic addresses of shared memory: from here, 4 GiB.
pub(crate) const SHARED_WINDOW: u64 = 0xF000_0000_0000;
/// Generic addresses of a thread's local memory.
pub(crate) const LOCAL_WINDOW: u64 = 0xF100_0000_0000;
/// Generic addresses of a kernel's parameters.
pub(crate) const PARAMETER_WINDOW: u64 = 0xF200_0000_0000;
/// Addresses of functions begin here. No memory is there.
const CODE: u64 = 0x1_0000_0000_0000;
/// Bits of an address within a program's functions.
const CODE_BITS: u32 = 28;
/// Bytes between the addresses of functions.
pub(crate) const FUNCTION_SIZE: u64 = 16;

/// Where shared variables begin in shared memory, so that null is no variable (devices keep 1 KiB for
/// themselves).
pub(crate) const SHARED_START: u32 = 1024;
/// Where frames begin in local memory, so that null is no variable.
pub(crate) const LOCAL_START: u32 = 256;

impl Space {
    /// The start of the space's generic addresses.
    pub(crate) fn window(self) -> u64 {
        match self {
            Self::Generic | Self::Global => 0,
            Self::Shared => SHARED_WINDOW,
            Self::Local => LOCAL_WINDOW,
            Self::Parameter => PARAMETER_WINDOW,
        }
    }

    /// The space of a generic address and the address in it.
    #[inline]
    pub(crate) fn of(address: u64) -> (Self, u64) {
        const WINDOW: u64 = 1 << 32;
        match address & !(WINDOW - 1) {
            SHARED_WINDOW => (Self::Shared, address & (WINDOW - 1)),
            LOCAL_WINDOW => (Self::Local, address & (WINDOW - 1)),
            PARAMETER_WINDOW => (Self::Parameter, address & (WINDOW - 1)),
            _ => (Self::Global, address),
        }
    }

    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Parameter => "parameter",
        }
    }
}

/// Where the functions of a further program get their addresses: no two programs of a process share one.
pub(crate) fn new_code_window() -> u64 {
    static PROGRAMS: AtomicU64 = AtomicU64::new(0);
    CODE + (PROGRAMS.fetch_add(1, Ordering::Relaxed) << CODE_BITS)
}

/// Whether an address is that of some program's function.
pub(crate) fn is_code(address: u64) -> bool {
    address >= CODE && address >> 56 == 0
}
