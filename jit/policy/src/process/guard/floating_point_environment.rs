//! How a thread of the program computes. LLVM computes constants as the processor does by default: to
//! nearest, with all the digits of the type, and with subnormal numbers. A program that has the processor do
//! otherwise (`fesetround`, or a link with `-ffast-math`, after which subnormal numbers are zeros) gets other
//! results from ahead-of-time code, which computes what a variant holds as a constant.

use std::arch::asm;

use offloom_abi::jit_image::{MXCSR_DEFAULT, MXCSR_MASK, X87_DEFAULT, X87_MASK};

/// Whether the thread computes as LLVM does. `long double` is computed with a control word of its own.
#[inline]
pub fn is_default() -> bool {
    let mut control_word = 0_u16;
    // SAFETY: writes these two bytes.
    unsafe { asm!("fnstcw word ptr [{}]", in(reg) &raw mut control_word, options(nostack, preserves_flags)) };
    let mxcsr = control_and_status() & MXCSR_MASK;
    (mxcsr ^ MXCSR_DEFAULT) | u32::from((control_word & X87_MASK) ^ X87_DEFAULT) == 0
}

/// MXCSR, the register that says how the thread computes, and what happened so far.
#[inline]
pub fn control_and_status() -> u32 {
    let mut register = 0_u32;
    // SAFETY: writes these four bytes.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack, preserves_flags)) };
    register
}

/// Has the thread compute as LLVM does, and clears what happened so far.
pub fn set_default() {
    // SAFETY: a value that the processor takes.
    unsafe { set(MXCSR_DEFAULT) };
}

/// Sets the register.
///
/// # Safety
/// The value is one that the processor takes, such as [`control_and_status`] gives.
pub unsafe fn set(register: u32) {
    // SAFETY: reads these four bytes; the value is as the caller promises.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const register, options(nostack, preserves_flags, readonly)) };
}
