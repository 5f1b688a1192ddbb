//! One bell for everything that threads wait for: values of signals, packets, an end. Whoever changes one of
//! these rings, and all that wait look again. A test kit has few threads.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// How often the bell has rung.
static COUNT: Mutex<u64> = Mutex::new(0);
static RUNG: Condvar = Condvar::new();

/// Has all that wait look again.
pub(crate) fn ring() {
    *COUNT.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    RUNG.notify_all();
}

/// Waits until `look` finds something, or until `deadline`.
pub(crate) fn wait<T>(deadline: Option<Instant>, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        // Before the look: what changes after it rings later than this number.
        let seen = *COUNT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = look() {
            return Some(found);
        }
        let mut count = COUNT.lock().unwrap_or_else(PoisonError::into_inner);
        while *count == seen {
            let Some(deadline) = deadline else {
                count = RUNG.wait(count).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.checked_duration_since(Instant::now())?;
            count = RUNG
                .wait_timeout(count, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_wait_ends_when_another_thread_rings() {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                done.store(true, Ordering::Release);
                ring();
            });
            assert_eq!(wait(None, || done.load(Ordering::Acquire).then_some(7)), Some(7));
        });
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        assert_eq!(wait(Some(Instant::now()), || None::<()>), None);
    }
}
