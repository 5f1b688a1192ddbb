//! Keeps panics from crossing into LLVM, and keeps what they said.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Inside a guarded call: where the last panic happened. `None` outside of guarded calls.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `call`; a panic becomes a message that says what was panicked with and where.
///
/// Nothing is printed: the caller reports the message. (The panic hook that does this belongs to the plugin's
/// own copy of the standard library; other panics go to the hook that was there before.)
pub(crate) fn catch<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let noted = PLACE.with_borrow_mut(|place| {
                let Some(place) = place else { return false };
                *place = info.location().map(ToString::to_string).unwrap_or_default();
                true
            });
            if !noted {
                previous(info);
            }
        }));
    });
    let outer = PLACE.replace(Some(String::new()));
    // Whatever the closure left half done, the caller reports an error and LLVM stops.
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    let place = PLACE.replace(outer).unwrap_or_default();
    result.map_err(|payload| format!("panicked at {place}: {}", message_of(payload)))
}

fn message_of(payload: Box<dyn Any + Send>) -> String {
    let payload = match payload.downcast::<String>() {
        Ok(text) => return *text,
        Err(payload) => payload,
    };
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    // The destructor of an unknown payload may panic itself, with nobody left to catch it.
    std::mem::forget(payload);
    "a value that is not text".to_owned()
}
