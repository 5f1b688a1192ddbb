//! Divisions of the numbers of iterations, as loops with `collapse` begin with.

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;

unsafe extern "C" {
    fn offloom_ir_divide_less(module: LLVMModuleRef, without_signs: *mut u32, in_blocks: *mut u32);
    fn offloom_ir_narrow_divisions(module: LLVMModuleRef) -> u32;
}

/// In how many loops [`divide_less`] has found such divisions, and what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DividedLoops {
    /// Divisions there have no signs now; some had none before.
    pub without_signs: u32,
    /// They run in blocks of iterations with equal quotients.
    pub in_blocks: u32,
}

/// Has loops that divide the numbers of their iterations by constants do so less often, and faster.
/// Iterations stay in their order, and compute what they did.
///
/// On processors, a thread asks the OpenMP runtime which iterations of a loop are its own
/// (`__kmpc_for_static_init_*`). So LLVM knows nothing of their numbers, not even that they are not negative:
/// that is shown here, from the bounds of the whole loop, also through the regions in which it is
/// (OpenMP 5.2, section 11.5). Then:
///
/// * a division without a sign takes half as long;
/// * iterations that have the same quotients become a loop of their own (strip-mining), with the quotients
///   before it. That is done where all divisors are multiples of the smallest, and that is 8 or more.
pub fn divide_less(module: &Module<'_>) -> DividedLoops {
    let mut done = DividedLoops {
        without_signs: 0,
        in_blocks: 0,
    };
    // SAFETY: a live module, and two numbers to write to.
    unsafe {
        offloom_ir_divide_less(
            module.as_mut_ptr(),
            &raw mut done.without_signs,
            &raw mut done.in_blocks,
        );
    }
    done
}

/// Makes divisions, and shifts to the right, use 32 bits instead of 64, and no signs, where that holds all
/// their numbers; for GPUs, which multiply 32 bits. Returns how many numbers are computed otherwise then:
/// what is left over is for `instcombine`.
///
/// On GPUs a thread computes its iterations itself, so how many there are tells scalar evolution, in the
/// module as LLVM's passes have left it, what their numbers may be.
pub fn narrow_divisions(module: &Module<'_>) -> u32 {
    // SAFETY: a live module.
    unsafe { offloom_ir_narrow_divisions(module.as_mut_ptr()) }
}
