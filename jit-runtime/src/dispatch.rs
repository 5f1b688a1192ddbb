//! What a kernel's stub calls at every launch, and after launches that are timed.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use offloom_abi::jit_image::{Choice, Dispatch, Finished, Slot};
use offloom_jit_cache::settings::FloatingPoint;

use crate::fork_gate;
use crate::guard::{Interlude, floating_point_environment, guarded, guarded_interlude};
use crate::launch::ArgumentWords;
use crate::report;
use crate::settings::{counts_launches, settings};
use crate::slot::SlotState;
use crate::variant;

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
/// As [`Dispatch`]: `slot` is a slot of an announced image, whose state was set before this function was published in it.
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
        let choice = if floating_point_environment::is_default() || results_may_differ() {
            state.choose::<COUNT>(launch)
        } else {
            ahead_of_time
        };
        if COUNT {
            state.count(choice);
        }
        choice
    })
}

/// Whether variants may give other results than ahead-of-time code. Only asked where they would, since the thread does not compute as LLVM does.
#[cold]
fn results_may_differ() -> bool {
    // No lock: one that another thread held at a fork would stay locked in the child.
    static SAID: AtomicBool = AtomicBool::new(false);
    if settings().floating_point == FloatingPoint::Source {
        return true;
    }
    if !SAID.load(Ordering::Relaxed) && !SAID.swap(true, Ordering::Relaxed) {
        let _interlude = Interlude::begin();
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
unsafe fn state_of(slot: *const Slot) -> &'static SlotState {
    // SAFETY: as the caller promises; a state lives as long as the image with the slot.
    unsafe { &*(*slot).state.load(Ordering::Relaxed).cast::<SlotState>() }
}

/// # Safety
/// As [`Finished`]: on the launching thread, with the ticket of the choice that has just returned, for the same slot.
unsafe extern "C" fn finished(slot: *const Slot, ticket: u64) {
    guarded_interlude((), || {
        // SAFETY: as the caller promises.
        let (state, variant) = unsafe { (state_of(slot), variant::of_ticket(ticket)) };
        let change = fork_gate::enter();
        if change.is_some()
            && let Some(verdict) = variant::finish(variant, ticket)
        {
            state.settle(variant, verdict);
        }
        variant.leave();
    });
}
