//! The two keys of a shape whose launches need no look-up: what was settled first, which is all that most kernels have, and what was
//! settled last, which a program that goes from one set of values to the next is at.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Found;
use crate::guard::Guard;
use crate::signature::Launch;

/// How many keys are settled after the first until the last one stays. As many as a kernel has variants.
const LATER: usize = 255;

/// The keys that were settled under one shape. Nothing is taken out, since a launch may be looking at it.
#[derive(Debug, Default)]
pub(super) struct Settled {
    first: OnceLock<Key>,
    /// Made with the second key.
    later: OnceLock<Box<[OnceLock<Box<Key>>]>>,
    /// How many of `later` there are. Stored with release ordering once they are.
    later_count: AtomicUsize,
}

/// What launches with one key run for good.
#[derive(Debug)]
struct Key {
    guard: Guard,
    found: Found,
}

impl Key {
    #[inline]
    fn find(&self, launch: &impl Launch) -> Option<Found> {
        self.guard.admits(launch).then_some(self.found)
    }
}

impl Settled {
    /// What a launch with one of the two keys runs.
    #[inline]
    pub(super) fn find(&self, launch: &impl Launch) -> Option<Found> {
        let first = self.first.get()?;
        first.find(launch).or_else(|| self.last()?.find(launch))
    }

    #[inline]
    fn last(&self) -> Option<&Key> {
        let last = self.later_count.load(Ordering::Acquire).checked_sub(1)?;
        Some(self.later.get()?.get(last)?.get()?)
    }

    /// Notes what launches that the guard admits run for good. One at a time.
    pub(super) fn add(&self, guard: Guard, found: Found) {
        let Err(key) = self.first.set(Key { guard, found }) else {
            return;
        };
        let later = self
            .later
            .get_or_init(|| (0..LATER).map(|_| OnceLock::new()).collect());
        let count = self.later_count.load(Ordering::Relaxed);
        if let Some(place) = later.get(count) {
            // It is empty, so this cannot fail.
            let _ = place.set(Box::new(key));
            self.later_count.store(count + 1, Ordering::Release);
        }
    }
}
