//! x86_64: MXCSR says how the thread computes, and what happened so far. `long double` is computed with a
//! control word of its own.

use std::arch::asm;

use offloom_abi::jit_image::{MXCSR_DEFAULT, MXCSR_MASK, X87_DEFAULT, X87_MASK};

/// How a thread computes, and what happened so far: MXCSR.
#[derive(Debug, Clone, Copy)]
pub struct State(u32);

/// Whether the thread computes as LLVM does.
#[inline]
pub fn is_default() -> bool {
    let mut control_word = 0_u16;
    // SAFETY: writes these two bytes.
    unsafe { asm!("fnstcw word ptr [{}]", in(reg) &raw mut control_word, options(nostack, preserves_flags)) };
    let mxcsr = State::current().0 & MXCSR_MASK;
    (mxcsr ^ MXCSR_DEFAULT) | u32::from((control_word & X87_MASK) ^ X87_DEFAULT) == 0
}

impl State {
    /// That of this thread.
    #[inline]
    pub fn current() -> Self {
        let mut register = 0_u32;
        // SAFETY: writes these four bytes.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack, preserves_flags)) };
        Self(register)
    }

    /// Has the thread compute as LLVM does, and clears what happened so far.
    pub fn set_default() {
        // SAFETY: a value that the processor takes.
        unsafe { Self(MXCSR_DEFAULT).set() };
    }

    /// Has the thread go on with this state.
    ///
    /// # Safety
    /// It is one that [`State::current`] gave, and code that runs now expects it.
    pub unsafe fn set(self) {
        // SAFETY: reads these four bytes; the value is as the caller promises.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const self.0, options(nostack, preserves_flags, readonly));
        }
    }
}
