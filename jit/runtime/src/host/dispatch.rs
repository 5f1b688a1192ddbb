//! What a kernel's stub calls at every launch, and after launches that are timed.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use offloom_abi::jit_image::{Choice, Dispatch, Finished, Slot};
use offloom_jit_cache::settings::FloatingPoint;
use offloom_jit_policy::kernel_on_device::KernelOnDevice;
use offloom_jit_policy::process::guard::{
    ForeignThreadGuard, floating_point_environment, guarded, guarded_on_foreign_thread,
};
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::{counts_launches, settings};

use super::launch::ArgumentWords;
use super::{Address, Host};

thread_local! {
    /// When the launch that is timed on this thread began; 0 if none is. Needs no destructor, so it can be
    /// used to the thread's very end.
    static STARTED: Cell<u64> = const { Cell::new(0) };
}

/// The dispatch function for this process's settings.
pub(crate) fn dispatch_function() -> Dispatch {
    if counts_launches() {
        dispatch_and_count
    } else {
        dispatch
    }
}

/// What is called after a timed launch.
pub(crate) fn finished_function() -> Finished {
    finished
}

/// # Safety
/// As [`Dispatch`]: `slot` is a slot of an announced image, whose state was set before this function was
/// published in it.
unsafe extern "C" fn dispatch(slot: *const Slot, arguments: *const u64) -> Choice {
    // SAFETY: as the caller promises.
    unsafe { choose::<false>(slot, arguments) }
}

/// As [`dispatch`], and counts.
///
/// # Safety
/// As [`dispatch`].
unsafe extern "C" fn dispatch_and_count(slot: *const Slot, arguments: *const u64) -> Choice {
    // SAFETY: as the caller promises.
    unsafe { choose::<true>(slot, arguments) }
}

/// # Safety
/// As [`dispatch`].
#[inline]
unsafe fn choose<const COUNT: bool>(slot: *const Slot, arguments: *const u64) -> Choice {
    // SAFETY: as the caller promises.
    let (state, launch) = unsafe {
        let state = state_of(slot);
        (state, ArgumentWords::new(arguments, (*slot).argument_count))
    };
    let ahead_of_time = Choice {
        code: ptr::null(),
        ticket: 0,
    };
    guarded(ahead_of_time, || {
        if !floating_point_environment::is_default() && !results_may_differ() {
            if COUNT {
                state.launches.count(true);
            }
            return ahead_of_time;
        }
        let choice = state.choose::<COUNT>(launch);
        if COUNT {
            state.count(choice);
        }
        if choice.ticket != 0 {
            STARTED.set(now());
        }
        Choice {
            code: choice.entry.map_or(ptr::null(), Address::pointer),
            ticket: choice.ticket,
        }
    })
}

/// Whether variants may give other results than ahead-of-time code. Only asked where they would, since the
/// thread does not compute as LLVM does.
#[cold]
fn results_may_differ() -> bool {
    // No lock: one that another thread held at a fork would stay locked in the child.
    static SAID: AtomicBool = AtomicBool::new(false);
    if settings().floating_point == FloatingPoint::Source {
        return true;
    }
    if !SAID.load(Ordering::Relaxed) && !SAID.swap(true, Ordering::Relaxed) {
        let _guard = ForeignThreadGuard::begin();
        report::log(format_args!(
            "launches of a thread run ahead-of-time code: it rounds otherwise, or takes subnormal numbers for zeros (-ffast-math when the \
             program was linked, fesetround), which OFFLOOM_JIT_FP=match does not allow for"
        ));
    }
    false
}

/// # Safety
/// As [`dispatch`].
#[inline]
unsafe fn state_of(slot: *const Slot) -> &'static KernelOnDevice<Host> {
    // SAFETY: as the caller promises; a state lives as long as the image with the slot.
    unsafe {
        &*(*slot)
            .state
            .load(Ordering::Relaxed)
            .cast::<KernelOnDevice<Host>>()
    }
}

/// # Safety
/// As [`Finished`]: on the launching thread, with the ticket of the choice that has just returned, for the
/// same slot.
unsafe extern "C" fn finished(slot: *const Slot, ticket: u64) {
    guarded_on_foreign_thread((), || {
        // A launch in which another was timed, by a task that this thread took up, says nothing.
        let started = STARTED.replace(0);
        let nanoseconds = (started != 0).then(|| now().saturating_sub(started));
        // SAFETY: as the caller promises.
        unsafe { state_of(slot).finished(ticket, nanoseconds) };
    });
}

/// Nanoseconds of a clock that does not go backwards.
fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the record is ours to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
