//! How a thread of the program computes. LLVM computes constants as the processor does by default: to
//! nearest, with all the digits of the type, and with subnormal numbers. A program that has the processor do
//! otherwise (`fesetround`, or a link with `-ffast-math`, after which subnormal numbers are zeros) gets other
//! results from ahead-of-time code, which computes what a variant holds as a constant.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::{State, is_default};
#[cfg(target_arch = "x86_64")]
pub use x86_64::{State, is_default};

#[cfg(test)]
mod tests {
    use super::*;

    // `<fenv.h>`; rounding upward has another number on each processor.
    unsafe extern "C" {
        safe fn fesetround(rounding: libc::c_int) -> libc::c_int;
        safe fn fegetround() -> libc::c_int;
        safe fn feraiseexcept(exceptions: libc::c_int) -> libc::c_int;
        safe fn fetestexcept(exceptions: libc::c_int) -> libc::c_int;
    }
    const UPWARD: libc::c_int = if cfg!(target_arch = "x86_64") {
        0x800
    } else {
        0x40_0000
    };
    /// `FE_INVALID`, the same on both.
    const INVALID: libc::c_int = 1;

    #[test]
    fn what_the_program_set_is_seen_put_aside_and_put_back() {
        assert!(is_default());
        assert_eq!(fesetround(UPWARD), 0);
        feraiseexcept(INVALID);
        assert!(!is_default());
        let of_program = State::current();
        State::set_default();
        assert!(fetestexcept(INVALID) == 0);
        // SAFETY: what was read.
        unsafe { of_program.set() };
        assert_eq!((fegetround(), fetestexcept(INVALID)), (UPWARD, INVALID));
        assert_eq!(fesetround(0), 0);
        assert!(is_default());
    }
}
