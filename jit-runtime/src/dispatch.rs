//! What a kernel's stub calls at every launch: the variant's code, or null for the ahead-of-time body.
//!
//! A launch of a kernel whose variant is linked takes two loads here, no lock and no allocation.

use std::ffi::c_void;
use std::ptr;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use offloom_abi::jit_image::{Choice, Dispatch, Slot};

use crate::exit_gate;
use crate::guard::guarded;
use crate::image::SlotState;
use crate::report;
use crate::settings::settings;

/// The dispatch function for this process's settings.
pub(crate) fn dispatch_function() -> Dispatch {
    if settings().log {
        dispatch_and_count
    } else {
        dispatch
    }
}

/// # Safety
/// As [`Dispatch`]: `slot` is a slot of an announced image, whose state was set before this function was published in it.
unsafe extern "C" fn dispatch(slot: *const Slot, _arguments: *const u64) -> Choice {
    // SAFETY: as the caller promises; states are never freed.
    let (slot, state) = unsafe {
        (
            &*slot,
            &*(*slot).state.load(Ordering::Relaxed).cast::<SlotState>(),
        )
    };
    let mut code = state.code.load(Ordering::Acquire).cast_const();
    if code.is_null() {
        code = first_launch(slot, state);
    }
    Choice { code, ticket: 0 }
}

/// As [`dispatch`], and counts.
///
/// # Safety
/// As [`dispatch`].
unsafe extern "C" fn dispatch_and_count(slot: *const Slot, arguments: *const u64) -> Choice {
    // SAFETY: as the caller promises.
    let choice = unsafe { dispatch(slot, arguments) };
    if !choice.code.is_null() {
        // SAFETY: as in `dispatch`.
        let state = unsafe { &*(*slot).state.load(Ordering::Relaxed).cast::<SlotState>() };
        state.launches.fetch_add(1, Ordering::Relaxed);
    }
    choice
}

/// Compiles the kernel if no device has, links it for this one, and publishes it. Null when that fails, and then the slot is
/// empty from here on.
#[cold]
fn first_launch(slot: &Slot, state: &'static SlotState) -> *const c_void {
    let code = guarded(None, || {
        let _linking = state.linking.lock().unwrap_or_else(PoisonError::into_inner);
        let code = state.code.load(Ordering::Acquire);
        if !code.is_null() {
            return Some(code.cast_const());
        }
        if slot.dispatch.load(Ordering::Acquire).is_null() {
            return None;
        }
        let _work = exit_gate::enter()?;
        let code = make_variant(state);
        exit_gate::guard_exit_once();
        if let Some(code) = code {
            state.code.store(code.cast_mut(), Ordering::Release);
        }
        code
    });
    code.unwrap_or_else(|| {
        slot.dispatch.store(ptr::null_mut(), Ordering::Release);
        ptr::null()
    })
}

fn make_variant(state: &'static SlotState) -> Option<*const c_void> {
    let object = state.image.bundle.object(state.kernel)?;
    match state.image.link(state.kernel, object) {
        Ok(code) => Some(code),
        Err(error) => {
            report::failure(format_args!(
                "{}: stays ahead of time on image copy {}: {error}",
                state.kernel_name(),
                state.image.number
            ));
            None
        }
    }
}
