//! Start and end of GPU kernels, made by LLVM's own `OpenMPIRBuilder`, so that they are those of this LLVM's
//! Clang.

use inkwell::basic_block::BasicBlock;
use inkwell::llvm_sys::prelude::LLVMBasicBlockRef;

unsafe extern "C" {
    fn offloom_ir_begin_target_kernel(
        entry: LLVMBasicBlockRef,
        threads: i32,
        teams: i32,
    ) -> LLVMBasicBlockRef;
    fn offloom_ir_end_target_kernel(block: LLVMBasicBlockRef);
}

/// How many threads and teams a kernel may be launched with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaunchLimits {
    /// Threads of a team; `None`: what the target defaults to.
    pub threads: Option<u16>,
    /// Teams; `None`: any number.
    pub teams: Option<u16>,
}

/// Starts a kernel in generic mode at the end of `entry`, which must be the first block of a function of a
/// GPU module one of whose parameters is the implicit one (`dyn_ptr`): the first, or the last where
/// [`LlvmVersion::launch_environment_is_last`](offloom_abi::LlvmVersion) says so. It has no terminator yet.
///
/// Makes the kernel environment, the call of `__kmpc_target_init`, and the attributes and metadata with the
/// limits. Returns the block for the code of the initial thread, without a terminator; `None` only if LLVM
/// makes no such block.
pub fn begin_target_kernel<'ctx>(entry: BasicBlock<'ctx>, limits: LaunchLimits) -> Option<BasicBlock<'ctx>> {
    let limit = |limit: Option<u16>| limit.map_or(-1, i32::from);
    // SAFETY: a live block of a function with a parameter.
    let block = unsafe {
        offloom_ir_begin_target_kernel(entry.as_mut_ptr(), limit(limits.threads), limit(limits.teams))
    };
    // SAFETY: null or a live block.
    unsafe { BasicBlock::new(block) }
}

/// Ends at the end of `block`, which must have no terminator yet, what [`begin_target_kernel`] started: the
/// call of `__kmpc_target_deinit`.
pub fn end_target_kernel(block: BasicBlock<'_>) {
    // SAFETY: a live block.
    unsafe { offloom_ir_end_target_kernel(block.as_mut_ptr()) }
}
