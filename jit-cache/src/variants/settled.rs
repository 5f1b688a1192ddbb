//! The keys of a shape whose launches need not go through the table: what was settled for good. A launch is compared with the key that
//! was settled first, which is all that most kernels have; the others are found by a hash of the argument words, which costs less
//! than to read a whole key, and to look for it where entries may change.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use smallvec::SmallVec;

use super::Found;
use super::table::fold;
use crate::guard::Guard;
use crate::signature::Launch;

/// How many keys are noted after the first: as many as a kernel has variants. The rest is left to the table.
const LATER: usize = 256;
/// Places where they are looked for: a power of two, and so many that a launch with none of the keys mostly comes to an empty one.
const PLACES: usize = 8 * LATER;
/// Words of a key that is not long.
const SHORT: usize = 10;
/// In how many places a key is looked for. One that finds them all taken is left to the table.
const STEPS: usize = 8;

/// The keys that were settled under one shape. Nothing is taken out or replaced, since a launch may be looking at it.
#[derive(Debug, Default)]
pub(super) struct Settled {
    first: OnceLock<First>,
    /// Made with the second key.
    later: OnceLock<Later>,
}

/// What launches with the first key run for good.
#[derive(Debug)]
struct First {
    guard: Guard,
    found: Found,
}

/// The keys after the first.
#[derive(Debug)]
struct Later {
    /// In each place which of the keys is there, from 1; 0: none.
    places: Box<[AtomicU16]>,
    keys: Box<[Place]>,
}

/// What launches with another key run for good. In two lines of the processor's cache, where the key is not long.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Place(OnceLock<Key>);

#[derive(Debug)]
struct Key {
    found: Found,
    /// Those of the key's guard; its masks are those of the first.
    values: SmallVec<[u64; SHORT]>,
}

const _: () = assert!(size_of::<Place>() == 128);

impl Settled {
    /// What a launch with one of the keys runs.
    #[inline]
    pub(super) fn find(&self, launch: &impl Launch) -> Option<Found> {
        let first = self.first.get()?;
        if first.guard.admits(launch) {
            return Some(first.found);
        }
        let later = self.later.get()?;
        for place in places(first.guard.values_of(launch)) {
            let key = later.at(place)?;
            if first.guard.admits_as(&key.values, launch) {
                return Some(key.found);
            }
        }
        None
    }

    /// Notes what launches that the guard admits run for good. One at a time.
    pub(super) fn add(&self, guard: Guard, found: Found) {
        let Err(First { guard, found }) = self.first.set(First { guard, found }) else {
            return;
        };
        let values = SmallVec::from_slice(&guard.into_values());
        self.later.get_or_init(Later::default).add(Key { values, found });
    }
}

impl Later {
    #[inline]
    fn at(&self, place: usize) -> Option<&Key> {
        // A launch that sees a number before the key finds none.
        let number = self.places.get(place)?.load(Ordering::Relaxed);
        self.keys.get(usize::from(number).checked_sub(1)?)?.0.get()
    }

    fn add(&self, key: Key) {
        let count = self.keys.iter().take_while(|key| key.0.get().is_some()).count();
        let empty = places(key.values.iter().copied()).find(|place| self.at(*place).is_none());
        if let Some(free) = self.keys.get(count)
            && let Some(place) = empty
        {
            // It is empty, so this cannot fail.
            let _ = free.0.set(key);
            self.places[place].store(count as u16 + 1, Ordering::Relaxed);
        }
    }
}

impl Default for Later {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| AtomicU16::new(0)).collect(),
            keys: (0..LATER).map(|_| Place::default()).collect(),
        }
    }
}

/// Where the key with these values may be, in the order in which it is looked for.
#[inline]
fn places(values: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    /// Small numbers in words of which one is up to four behind the other do not meet.
    const TURN: u32 = 27;
    /// The fraction of the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = values.fold(0_u64, |mixed, value| mixed.rotate_left(TURN) ^ value);
    let hash = fold(mixed, FACTOR) as usize;
    (0..STEPS).map(move |step| hash.wrapping_add(step) % PLACES)
}
