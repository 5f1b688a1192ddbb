//! What keeps this library's work from being noticed by the program: panics stay inside, and the program's
//! thread goes on as it was.

pub mod floating_point_environment;
pub mod write_signals;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::process::report;

/// Runs `body`; a panic in it is reported and becomes `otherwise`.
pub fn guarded<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    // State that a panic could leave half-written is behind mutexes, which it poisons.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        report::failure("an internal error (a panic); kernels go on ahead of time");
        otherwise
    })
}

/// As [`guarded`], in a [`ForeignThreadGuard`].
pub fn guarded_on_foreign_thread<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    let _guard = ForeignThreadGuard::begin();
    guarded(otherwise, body)
}

/// Work of this library's own on a thread of the program's, while this lives:
///
/// * the thread is not cancelled (`pthread_cancel`): the unwinding would come to frames that nothing may
///   unwind through, and end the program. A request waits for the program's own next point of cancellation;
/// * floating point is as a process starts with it, whatever the program has set; what the program finds
///   afterwards is what it left, exceptions that happened included (OpenMP says nothing of them, but a kernel
///   may ask);
/// * `errno` is kept.
pub struct ForeignThreadGuard {
    cancel_state: c_int,
    error: c_int,
    floating_point: floating_point_environment::State,
}

unsafe extern "C" {
    /// Of POSIX threads; not in the `libc` crate.
    safe fn pthread_setcancelstate(state: c_int, before: Option<&mut c_int>) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE` of glibc.
const CANCEL_DISABLE: c_int = 1;

impl ForeignThreadGuard {
    /// From now on.
    pub fn begin() -> Self {
        let mut cancel_state = 0;
        // Does not fail with this state.
        pthread_setcancelstate(CANCEL_DISABLE, Some(&mut cancel_state));
        let floating_point = floating_point_environment::State::current();
        floating_point_environment::State::set_default();
        Self {
            cancel_state,
            // SAFETY: the C library gives each thread its own.
            error: unsafe { *libc::__errno_location() },
            floating_point,
        }
    }
}

impl Drop for ForeignThreadGuard {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.error };
        // SAFETY: what was read, and what the program's code expects.
        unsafe { self.floating_point.set() };
        pthread_setcancelstate(self.cancel_state, None);
    }
}
