//! How the launching thread rounds. LLVM computes constants as the processor does by default: to nearest, and with subnormal numbers. A program
//! that has the processor do otherwise (`fesetround`, or a link with `-ffast-math`, after which subnormal numbers are zeros) gets other
//! results from ahead-of-time code, which computes what a variant holds as a constant.

use std::arch::asm;
use std::sync::Once;

use offloom_jit_cache::settings::FloatingPoint;

use crate::report;
use crate::settings::settings;

/// The bits of MXCSR that say what happened so far.
const HAPPENED: u32 = 0x3f;
/// The others, as a process starts with them: to nearest, subnormal numbers kept, no exception ends the program.
const DEFAULT: u32 = 0x1f80;

/// Whether the thread computes as LLVM does.
#[inline]
pub(crate) fn is_default() -> bool {
    let mut control = 0_u32;
    // SAFETY: writes these four bytes.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags)) };
    control & !HAPPENED == DEFAULT
}

/// Whether variants may give other results than ahead-of-time code. Only asked where they would.
#[cold]
pub(crate) fn may_differ() -> bool {
    static SAID: Once = Once::new();
    if settings().floating_point == FloatingPoint::Source {
        return true;
    }
    SAID.call_once(|| {
        report::log(format_args!(
            "launches of a thread run ahead-of-time code: it rounds otherwise, or takes subnormal numbers for zeros (-ffast-math when the \
             program was linked, fesetround), which OFFLOOM_JIT_FP=match does not allow for"
        ));
    });
    false
}
