//! The JIT paper's first level: the code that launches of one kernel on one device may run, found by hash.
//!
//! [`Variants::find`] is on the path of every launch that [inline caches](crate::inline_cache) do not know:
//! no lock, no allocation, one probe of a hash table. It runs beside changes, which are made one at a time.

mod table;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::signature::{Launch, MAX_KEY_WORDS};
use crate::tracker::{LaunchKey, Tracker};
use table::{Growing, KEY_BLOCK, Value};

/// Code that is linked for the device: an address, which cannot be one of the first few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(u64);

impl Code {
    /// Code at this address; nothing for addresses below 16, which are no code.
    pub const fn at(address: u64) -> Option<Self> {
        if address < Value::FIRST_ADDRESS {
            return None;
        }
        Some(Self(address))
    }

    /// The address.
    pub const fn address(self) -> u64 {
        self.0
    }
}

/// What a launch may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Code that was made for launches like this one.
    Code(Code),
    /// Launches like this one run ahead-of-time code: making code for them failed, or it was no faster.
    AheadOfTime,
    /// Code is being made. Until then [`Variants::fitting`] may find code that fits too.
    Pending,
    /// Nothing is known of launches like this one. As above.
    Unknown,
}

/// What is known of launches with one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// They run this.
    Code(Code),
    /// They run ahead-of-time code.
    AheadOfTime,
    /// Code for them is being made.
    Pending,
}

/// The code of one kernel on one device.
#[derive(Debug)]
#[repr(C)]
pub struct Variants {
    table: Growing,
    /// For each of the tracker's shapes, how many entries there are: a look-up for fitting code skips shapes
    /// without.
    entries_of_shape: Box<[AtomicUsize]>,
    changes: Mutex<()>,
}

impl Variants {
    /// No code, for launches that `tracker` knows.
    pub fn new(tracker: &Tracker) -> Self {
        Self {
            table: Growing::new(key_length(tracker)),
            entries_of_shape: (0..tracker.shape_limit()).map(|_| AtomicUsize::new(0)).collect(),
            changes: Mutex::new(()),
        }
    }

    /// What a launch may run. `tracker` is the one this was made for.
    ///
    /// A change that is made meanwhile may hide an entry for this one time; it is never mistaken for another.
    #[inline]
    pub fn find(&self, tracker: &Tracker, launch: &impl Launch) -> Found {
        let value = self.value(tracker, tracker.current(), launch);
        match value.and_then(Value::entry) {
            Some(Entry::Code(code)) => Found::Code(code),
            Some(Entry::AheadOfTime) => Found::AheadOfTime,
            Some(Entry::Pending) => Found::Pending,
            None => Found::Unknown,
        }
    }

    #[inline]
    fn value(&self, tracker: &Tracker, shape: usize, launch: &impl Launch) -> Option<Value> {
        // With code for each length, loops over keys become straight: most keys are short.
        match tracker.field_count() {
            0..=4 => self.value_of::<4>(tracker, shape, launch),
            5..=8 => self.value_of::<8>(tracker, shape, launch),
            9..=12 => self.value_of::<12>(tracker, shape, launch),
            _ => self.value_of_long(tracker, shape, launch),
        }
    }

    #[inline]
    fn value_of<const N: usize>(
        &self,
        tracker: &Tracker,
        shape: usize,
        launch: &impl Launch,
    ) -> Option<Value> {
        let mut words = [0; N];
        tracker.shape(shape).program.read(launch, &mut words);
        self.table.find(shape, &words)
    }

    #[inline(never)]
    fn value_of_long(&self, tracker: &Tracker, shape: usize, launch: &impl Launch) -> Option<Value> {
        let mut words = [0; MAX_KEY_WORDS];
        tracker.shape(shape).program.read(launch, &mut words);
        self.table.find(shape, &words[..key_length(tracker)])
    }

    /// Code under another shape that is right for a launch: the most specific first.
    #[cold]
    pub fn fitting(&self, tracker: &Tracker, launch: &impl Launch) -> Option<Code> {
        let current = tracker.current();
        let shapes = self.entries_of_shape.iter().enumerate();
        let with_entries = shapes.filter(|(_, entries)| entries.load(Ordering::Relaxed) != 0);
        with_entries
            .map(|(shape, _)| shape)
            .filter(|shape| *shape != current)
            .find_map(|shape| match self.value(tracker, shape, launch)?.entry() {
                Some(Entry::Code(code)) => Some(code),
                _ => None,
            })
    }

    /// Says what launches with this key run from now on; returns what they ran until now.
    pub fn insert(&self, key: &LaunchKey, entry: Entry) -> Option<Entry> {
        self.change(key, Some(entry))
    }

    /// Forgets launches with this key; returns what they ran until now. A launch that looked before may still
    /// be about to run that: whoever frees the code waits for it.
    pub fn remove(&self, key: &LaunchKey) -> Option<Entry> {
        self.change(key, None)
    }

    /// Forgets launches with this key if they run this; false if they run something else, or nothing is known
    /// of them. As [`Self::remove`].
    pub fn remove_if(&self, key: &LaunchKey, entry: Entry) -> bool {
        let _changing = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_there = self.table.get(key.shape, &filled_up(key)) == Some(entry);
        if is_there {
            self.replace(key, None);
        }
        is_there
    }

    /// Notes that code for this key is being made. False if something is known of the key already: then
    /// another launch makes it.
    pub fn claim(&self, key: &LaunchKey) -> bool {
        let _changing = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if self.table.get(key.shape, &filled_up(key)).is_some() {
            return false;
        }
        self.replace(key, Some(Entry::Pending));
        true
    }

    /// How many keys something is known of.
    pub fn len(&self) -> usize {
        self.entries_of_shape
            .iter()
            .map(|entries| entries.load(Ordering::Relaxed))
            .sum()
    }

    /// Whether nothing is known of any key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn change(&self, key: &LaunchKey, entry: Option<Entry>) -> Option<Entry> {
        let _changing = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        self.replace(key, entry)
    }

    /// Only called while `changes` is locked.
    fn replace(&self, key: &LaunchKey, entry: Option<Entry>) -> Option<Entry> {
        let before = self.table.replace(key.shape, &filled_up(key), Value::of(entry));
        let entries = &self.entries_of_shape[key.shape];
        match (before, entry) {
            (None, Some(_)) => entries.fetch_add(1, Ordering::Relaxed),
            (Some(_), None) => entries.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
        before
    }
}

/// Words of a key in the table.
fn key_length(tracker: &Tracker) -> usize {
    in_blocks(tracker.field_count())
}

/// A key's words as the table has them.
fn filled_up(key: &LaunchKey) -> Vec<u64> {
    let mut words = key.words.to_vec();
    words.resize(in_blocks(words.len()), 0);
    words
}

fn in_blocks(words: usize) -> usize {
    words.next_multiple_of(KEY_BLOCK).max(KEY_BLOCK)
}

impl Value {
    fn of(entry: Option<Entry>) -> Self {
        match entry {
            None => Self::REMOVED,
            Some(Entry::Pending) => Self::PENDING,
            Some(Entry::AheadOfTime) => Self::AHEAD_OF_TIME,
            Some(Entry::Code(code)) => Self(code.0),
        }
    }

    fn entry(self) -> Option<Entry> {
        match self {
            Self::EMPTY | Self::REMOVED => None,
            Self::PENDING => Some(Entry::Pending),
            Self::AHEAD_OF_TIME => Some(Entry::AheadOfTime),
            Self(address) => Some(Entry::Code(Code(address))),
        }
    }
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests;
