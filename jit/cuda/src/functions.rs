//! The kernels by their handles. Launches read the table without a lock and without allocating.

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::handles::FunctionHandle;
use offloom_jit_policy::process::lock::lock;

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
pub struct Functions<T: 'static> {
    table: AtomicPtr<Table<T>>,
    changing: Mutex<()>,
    /// What stands in a table for a kernel that is not ours: an address at which no `T` is.
    foreign: AtomicUsize,
}

#[derive(Debug)]
struct Table<T> {
    places: Box<[Place<T>]>,
}

/// The function is stored after its value, so who sees the one sees the other.
#[derive(Debug)]
struct Place<T> {
    function: AtomicUsize,
    value: AtomicPtr<T>,
}

impl<T> Functions<T> {
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
    pub fn find(&'static self, function: FunctionHandle) -> Found<T> {
        // SAFETY: tables are never freed.
        let Some(table) = (unsafe { self.table.load(Ordering::Acquire).as_ref() }) else {
            return Found::Unknown;
        };
        let Some(place) = table.place(function) else {
            return Found::Unknown;
        };
        if place.function.load(Ordering::Acquire) != function.0 {
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
    pub fn insert(&'static self, function: FunctionHandle, found: Found<T>) {
        if function == FunctionHandle::NULL {
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
            && let Some(place) = table.place(function)
            && (place.function.load(Ordering::Acquire) == function.0 || table.has_room())
        {
            place.put(function, value);
            return;
        }
        if value.is_null() {
            return;
        }
        let larger = Table::with_places_for(table);
        if let Some(place) = larger.place(function) {
            place.put(function, value);
        }
        self.table.store(Box::leak(Box::new(larger)), Ordering::Release);
    }
}

impl<T> Default for Functions<T> {
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
                    place.function.load(Ordering::Acquire),
                    place.value.load(Ordering::Acquire),
                )
            })
            .filter(|(_, value)| !value.is_null());
        let known: Vec<_> = known.collect();
        let count = (4 * known.len()).next_power_of_two().max(FIRST_PLACES);
        let places = (0..count).map(|_| Place {
            function: AtomicUsize::new(0),
            value: AtomicPtr::new(ptr::null_mut()),
        });
        let table = Self {
            places: places.collect(),
        };
        for (function, value) in known {
            let function = FunctionHandle(function);
            if let Some(place) = table.place(function) {
                place.put(function, value);
            }
        }
        table
    }

    /// Whether at least half of the places are free.
    fn has_room(&self) -> bool {
        let taken = self
            .places
            .iter()
            .filter(|place| place.function.load(Ordering::Relaxed) != 0);
        2 * taken.count() < self.places.len()
    }

    /// Where a handle is, or would go. None: everything is taken.
    #[inline]
    fn place(&self, function: FunctionHandle) -> Option<&Place<T>> {
        let mask = self.places.len() - 1;
        let start = function.0.wrapping_mul(GOLDEN_RATIO) >> (usize::BITS - self.places.len().ilog2());
        (0..self.places.len())
            .map(|step| &self.places[(start + step) & mask])
            .find(|place| {
                let taken_by = place.function.load(Ordering::Acquire);
                taken_by == 0 || taken_by == function.0
            })
    }
}

impl<T> Place<T> {
    fn put(&self, function: FunctionHandle, value: *mut T) {
        self.value.store(value, Ordering::Release);
        self.function.store(function.0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    fn functions() -> &'static Functions<usize> {
        Box::leak(Box::default())
    }

    fn number(value: usize) -> &'static usize {
        Box::leak(Box::new(value))
    }

    #[test]
    fn handles_are_found_as_they_were_noted_last() {
        let functions = functions();
        assert_eq!(functions.find(FunctionHandle(16)), Found::Unknown);
        functions.insert(FunctionHandle(16), Found::Unknown);
        functions.insert(FunctionHandle(16), Found::Foreign);
        assert_eq!(functions.find(FunctionHandle(16)), Found::Foreign);
        functions.insert(FunctionHandle(16), Found::Ours(number(1)));
        assert_eq!(functions.find(FunctionHandle(16)), Found::Ours(&1));
        functions.insert(FunctionHandle(16), Found::Unknown);
        assert_eq!(functions.find(FunctionHandle(16)), Found::Unknown);
        assert_eq!(functions.find(FunctionHandle(32)), Found::Unknown);
    }

    #[test]
    fn a_table_grows_and_loses_what_is_no_longer_of_use() {
        let functions = functions();
        for round in 0..50 {
            for handle in 1..100 {
                functions.insert(
                    FunctionHandle(round * 6400 + handle * 64),
                    Found::Ours(number(handle)),
                );
            }
            for handle in 1..100 {
                let function = FunctionHandle(round * 6400 + handle * 64);
                assert_eq!(functions.find(function), Found::Ours(number(handle)));
                functions.insert(function, Found::Unknown);
            }
        }
        // SAFETY: tables are never freed.
        let places = unsafe { &*functions.table.load(Ordering::Acquire) }.places.len();
        assert!(places <= 1024, "{places}");
    }

    #[test]
    fn readers_see_a_whole_entry_while_others_are_added() {
        let functions = functions();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for handle in 1..2000 {
                    functions.insert(FunctionHandle(handle * 8), Found::Ours(number(handle)));
                }
                done.store(true, Ordering::Release);
            });
            while !done.load(Ordering::Acquire) {
                for handle in (1..2000).step_by(7) {
                    match functions.find(FunctionHandle(handle * 8)) {
                        Found::Ours(value) => assert_eq!(*value, handle),
                        found => assert_eq!(found, Found::Unknown),
                    }
                }
            }
        });
    }
}
