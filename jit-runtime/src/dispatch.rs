//! What a kernel's stub calls at every launch, and after launches that are timed.

mod floating_point_environment;

use std::ptr;
use std::sync::atomic::Ordering;

use offloom_abi::jit_image::{Choice, Dispatch, Finished, Slot};

use crate::fork_gate;
use crate::guard::guarded;
use crate::launch::ArgumentWords;
use crate::settings::settings;
use crate::slot::SlotState;
use crate::variant;

/// The dispatch function for this process's settings.
pub(crate) fn dispatch_function() -> Dispatch {
    if settings().log || settings().stats.is_some() {
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
        let choice = if floating_point_environment::is_default() || floating_point_environment::may_differ() {
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
    guarded((), || {
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
