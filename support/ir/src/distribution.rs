//! How the iterations of a loop are shared among the teams and threads of a GPU.

use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::{AsValueRef, FunctionValue};

unsafe extern "C" {
    fn offloom_ir_share_iterations(kernel: LLVMValueRef, limit: u32, threads: u32, teams: u32) -> u32;
}

/// What [`share_iterations`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shared {
    /// Teams take as many iterations at a time as they have threads, no longer as many as they may have.
    pub by_threads: bool,
    /// The loop over a thread's iterations is gone: a thread has one of those that its team takes, or none.
    pub once: bool,
    /// The code of the iterations is called without the device runtime, which has threads wait for each
    /// other.
    pub directly: bool,
}

/// Specialises a kernel's `distribute parallel for` to a launch with so many `threads` in each team, of at
/// most `limit`, and so many `teams`, if their number is known. All threads must run the kernel (SPMD mode).
///
/// Without `dist_schedule`, Clang gives each team as many iterations at a time as it has threads, and LLVM's
/// OpenMPOpt puts the limit in the place of that number. OpenMP leaves this schedule to the implementation
/// (OpenMP 5.2, section 11.6). So that a program computes the same bits, teams take as many as before where
/// code could tell which thread of which team runs an iteration, or in which order: where it asks for numbers
/// of threads, adds floating-point numbers of several iterations, waits for other threads, uses memory of a
/// team, or keeps something for the next iteration.
pub fn share_iterations(kernel: FunctionValue<'_>, limit: u32, threads: u32, teams: Option<u32>) -> Shared {
    // SAFETY: a live definition.
    let done = unsafe {
        offloom_ir_share_iterations(kernel.as_value_ref(), limit, threads, teams.unwrap_or_default())
    };
    Shared {
        by_threads: done & 1 != 0,
        once: done & 2 != 0,
        directly: done & 4 != 0,
    }
}
