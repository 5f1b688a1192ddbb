//! AArch64: FPCR says how the thread computes, FPSR what happened so far.

use std::arch::asm;

use offloom_abi::jit_image::FPCR_DEFAULT;

/// How a thread computes, and what happened so far.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// FPCR.
    control: u64,
    /// FPSR.
    status: u64,
}

/// Whether the thread computes as LLVM does.
#[inline]
pub fn is_default() -> bool {
    control() == FPCR_DEFAULT
}

#[inline]
fn control() -> u64 {
    let control: u64;
    // SAFETY: only reads the register.
    unsafe { asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
    control
}

impl State {
    /// That of this thread.
    #[inline]
    pub fn current() -> Self {
        let status: u64;
        // SAFETY: only reads the register.
        unsafe { asm!("mrs {}, fpsr", out(reg) status, options(nomem, nostack, preserves_flags)) };
        Self {
            control: control(),
            status,
        }
    }

    /// Has the thread compute as LLVM does, and clears what happened so far.
    pub fn set_default() {
        let default = Self {
            control: FPCR_DEFAULT,
            status: 0,
        };
        // SAFETY: values that the processor takes.
        unsafe { default.set() };
    }

    /// Has the thread go on with this state.
    ///
    /// # Safety
    /// It is one that [`State::current`] gave, and code that runs now expects it.
    pub unsafe fn set(self) {
        // SAFETY: the values are as the caller promises.
        unsafe {
            asm!(
                "msr fpcr, {}",
                "msr fpsr, {}",
                in(reg) self.control,
                in(reg) self.status,
                options(nomem, nostack, preserves_flags)
            );
        }
    }
}
