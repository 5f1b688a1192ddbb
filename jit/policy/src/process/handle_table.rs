//! The kernels of a device by the handles that its driver, or its packets, name them by. Launches read the
//! table without a lock and without allocating.

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::process::lock::lock;

/// Places of the first table, a power of two.
const FIRST_PLACES: usize = 64;
/// Spreads handles, which are addresses, over the places: the fraction of the golden ratio.
const GOLDEN_RATIO: usize = 0x9e37_79b9_7f4a_7c15;

/// What is known of a handle.
#[derive(Debug, Eq, PartialEq)]
pub enum Found<T: 'static> {
    /// One of ours.
    Ours(&'static T),
    /// Not one of ours.
    Foreign,
    /// Never seen, or no longer a kernel's.
    Unknown,
}

impl<T> Clone for Found<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Found<T> {}

/// A table of handles. Tables that became too small are kept: launches may be reading them.
#[derive(Debug)]
pub struct HandleTable<T: 'static> {
    table: AtomicPtr<Table<T>>,
    changing: Mutex<()>,
    /// What stands in a table for a kernel that is not ours: an address at which no `T` is.
    foreign: AtomicUsize,
}

#[derive(Debug)]
struct Table<T> {
    places: Box<[Place<T>]>,
}

/// The handle is stored after its value, so who sees the one sees the other.
#[derive(Debug)]
struct Place<T> {
    handle: AtomicUsize,
    value: AtomicPtr<T>,
}

impl<T> HandleTable<T> {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self {
            table: AtomicPtr::new(ptr::null_mut()),
            changing: Mutex::new(()),
            foreign: AtomicUsize::new(0),
        }
    }

    fn foreign(&'static self) -> *mut T {
        (&raw const self.foreign).cast_mut().cast()
    }

    /// What is known of a handle.
    #[inline]
    pub fn find(&'static self, handle: usize) -> Found<T> {
        // SAFETY: tables are never freed.
        let Some(table) = (unsafe { self.table.load(Ordering::Acquire).as_ref() }) else {
            return Found::Unknown;
        };
        let Some(place) = table.place(handle) else {
            return Found::Unknown;
        };
        if place.handle.load(Ordering::Acquire) != handle {
            return Found::Unknown;
        }
        let value = place.value.load(Ordering::Acquire);
        if value == self.foreign() {
            return Found::Foreign;
        }
        // SAFETY: what else is stored is null or a reference that lives for ever.
        unsafe { value.as_ref() }.map_or(Found::Unknown, Found::Ours)
    }

    /// Notes what a handle is.
    pub fn insert(&'static self, handle: usize, found: Found<T>) {
        if handle == 0 {
            return;
        }
        let value = match found {
            Found::Ours(value) => ptr::from_ref(value).cast_mut(),
            Found::Foreign => self.foreign(),
            Found::Unknown => ptr::null_mut(),
        };
        let _changing = lock(&self.changing);
        // SAFETY: tables are never freed.
        let table = unsafe { self.table.load(Ordering::Acquire).as_ref() };
        if let Some(table) = table
            && let Some(place) = table.place(handle)
            && (place.handle.load(Ordering::Acquire) == handle || table.has_room())
        {
            place.put(handle, value);
            return;
        }
        if value.is_null() {
            return;
        }
        let larger = Table::with_places_for(table);
        if let Some(place) = larger.place(handle) {
            place.put(handle, value);
        }
        self.table.store(Box::leak(Box::new(larger)), Ordering::Release);
    }
}

impl<T> Default for HandleTable<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Table<T> {
    /// What is still of use in another table, with room for as much again.
    fn with_places_for(other: Option<&Self>) -> Self {
        let known = other.map_or(&[][..], |other| &other.places);
        let known = known
            .iter()
            .map(|place| {
                (
                    place.handle.load(Ordering::Acquire),
                    place.value.load(Ordering::Acquire),
                )
            })
            .filter(|(_, value)| !value.is_null());
        let known: Vec<_> = known.collect();
        let count = (4 * known.len()).next_power_of_two().max(FIRST_PLACES);
        let places = (0..count).map(|_| Place {
            handle: AtomicUsize::new(0),
            value: AtomicPtr::new(ptr::null_mut()),
        });
        let table = Self {
            places: places.collect(),
        };
        for (handle, value) in known {
            if let Some(place) = table.place(handle) {
                place.put(handle, value);
            }
        }
        table
    }

    /// Whether at least half of the places are free.
    fn has_room(&self) -> bool {
        let taken = self
            .places
            .iter()
            .filter(|place| place.handle.load(Ordering::Relaxed) != 0);
        2 * taken.count() < self.places.len()
    }

    /// Where a handle is, or would go. None: everything is taken.
    #[inline]
    fn place(&self, handle: usize) -> Option<&Place<T>> {
        let mask = self.places.len() - 1;
        let start = handle.wrapping_mul(GOLDEN_RATIO) >> (usize::BITS - self.places.len().ilog2());
        (0..self.places.len())
            .map(|step| &self.places[(start + step) & mask])
            .find(|place| {
                let taken_by = place.handle.load(Ordering::Acquire);
                taken_by == 0 || taken_by == handle
            })
    }
}

impl<T> Place<T> {
    fn put(&self, handle: usize, value: *mut T) {
        self.value.store(value, Ordering::Release);
        self.handle.store(handle, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    fn handles() -> &'static HandleTable<usize> {
        Box::leak(Box::default())
    }

    fn number(value: usize) -> &'static usize {
        Box::leak(Box::new(value))
    }

    #[test]
    fn handles_are_found_as_they_were_noted_last() {
        let handles = handles();
        assert_eq!(handles.find(16), Found::Unknown);
        handles.insert(16, Found::Unknown);
        handles.insert(16, Found::Foreign);
        assert_eq!(handles.find(16), Found::Foreign);
        handles.insert(16, Found::Ours(number(1)));
        assert_eq!(handles.find(16), Found::Ours(&1));
        handles.insert(16, Found::Unknown);
        assert_eq!(handles.find(16), Found::Unknown);
        assert_eq!(handles.find(32), Found::Unknown);
    }

    #[test]
    fn a_table_grows_and_loses_what_is_no_longer_of_use() {
        let handles = handles();
        for round in 0..50 {
            for handle in 1..100 {
                handles.insert(round * 6400 + handle * 64, Found::Ours(number(handle)));
            }
            for handle in 1..100 {
                let known = round * 6400 + handle * 64;
                assert_eq!(handles.find(known), Found::Ours(number(handle)));
                handles.insert(known, Found::Unknown);
            }
        }
        // SAFETY: tables are never freed.
        let places = unsafe { &*handles.table.load(Ordering::Acquire) }.places.len();
        assert!(places <= 1024, "{places}");
    }

    #[test]
    fn readers_see_a_whole_entry_while_others_are_added() {
        let handles = handles();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for handle in 1..2000 {
                    handles.insert(handle * 8, Found::Ours(number(handle)));
                }
                done.store(true, Ordering::Release);
            });
            while !done.load(Ordering::Acquire) {
                for handle in (1..2000).step_by(7) {
                    match handles.find(handle * 8) {
                        Found::Ours(value) => assert_eq!(*value, handle),
                        found => assert_eq!(found, Found::Unknown),
                    }
                }
            }
        });
    }
}
