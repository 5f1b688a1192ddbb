//! A hash table of short keys that is read without a lock while one thread changes it.
//!
//! Open addressing with linear probing. Every word of the table is an atomic, so nothing here is unsafe, and
//! each slot has a version that is odd while the slot is written: a reader that saw the version change takes
//! the slot for another key. A reader may so miss a key, for that once; it never takes one key for another.
//!
//! Tables double when they fill up, and one that is mostly removed entries is written anew into its twin of
//! the same size. No table is ever freed while others read: there are two of each size, all together at most
//! four times the largest.

use std::borrow::Borrow;
use std::sync::OnceLock;

use super::Entry;
use crate::atomics::{AtomicU64, AtomicUsize, Ordering, fence};

/// What a slot holds besides its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value(pub(super) u64);

impl Value {
    /// A slot that was never used since the table was cleared: ends a search.
    pub(super) const EMPTY: Self = Self(0);
    /// A key that was removed.
    pub(super) const REMOVED: Self = Self(1);
    /// Code is being made.
    pub(super) const PENDING: Self = Self(2);
    /// There will be no code.
    pub(super) const AHEAD_OF_TIME: Self = Self(3);
    /// The first value that is an address.
    pub(super) const FIRST_ADDRESS: u64 = 16;
}

/// Slots of the smallest table, as a power of two.
const SMALLEST: u32 = if cfg!(feature = "loom") { 1 } else { 3 };
/// Sizes there can be; the largest has 2^32 slots.
const SIZES: usize = 30;

/// Words of a slot before its key: version, value, label.
const HEADER: usize = 3;

/// The bits of a label that are the shape; there are fewer shapes than this. The others are the hash's, so
/// one word says of nearly every slot with another key that it has another one.
const SHAPE: u64 = 0xffff;

/// Keys have a multiple of this many words, filled up with zeros: what looks at them need not treat a rest.
pub(super) const KEY_BLOCK: usize = 4;

/// A table that grows.
#[derive(Debug)]
pub(super) struct Growing {
    key_words: usize,
    /// The tables: two of each size, made when they are needed.
    tables: Box<[OnceLock<Table>]>,
    /// Which of `tables` is read; `usize::MAX` before the first entry.
    current: AtomicUsize,
}

/// One table of a fixed size.
#[derive(Debug)]
struct Table {
    words: Box<[AtomicU64]>,
    /// Slots, a power of two.
    slots: usize,
    /// Words of a slot.
    stride: usize,
    /// Slots that are not empty. Only used by the thread that changes the table.
    used: AtomicUsize,
    /// Slots whose value is an entry. As `used`.
    live: AtomicUsize,
}

impl Growing {
    /// A table whose keys are a shape and this many words, a multiple of [`KEY_BLOCK`].
    pub(super) fn new(key_words: usize) -> Self {
        Self {
            key_words,
            tables: (0..2 * SIZES).map(|_| OnceLock::new()).collect(),
            current: AtomicUsize::new(usize::MAX),
        }
    }

    /// Slots of the current table.
    #[cfg(all(test, not(feature = "loom")))]
    pub(super) fn slots(&self) -> usize {
        self.current().map_or(0, |table| table.slots)
    }

    #[inline]
    fn current(&self) -> Option<&Table> {
        self.tables.get(self.current.load(Ordering::Acquire))?.get()
    }

    /// The value of a key. As an array it has a length for which there is code of its own.
    #[inline]
    pub(super) fn find<Key: Borrow<[u64]> + ?Sized>(&self, shape: usize, key: &Key) -> Option<Value> {
        let key = key.borrow();
        self.current()?.find(hash(shape, key), shape, key)
    }

    /// What is known of a key. Only exact while no other thread changes the table.
    pub(super) fn get(&self, shape: usize, key: &[u64]) -> Option<Entry> {
        self.find(shape, key)?.entry()
    }

    /// Gives a key a value; returns what was known of it. One thread at a time.
    pub(super) fn replace(&self, shape: usize, key: &[u64], value: Value) -> Option<Entry> {
        if let Some(table) = self.current()
            && let Some((slot, before)) = table.slot_of(shape, key)
        {
            table.set(slot, value);
            return before.entry();
        }
        if value != Value::REMOVED {
            self.with_room().add(shape, key, value);
        }
        None
    }

    /// A current table with room for one more.
    fn with_room(&self) -> &Table {
        let number = self.current.load(Ordering::Relaxed);
        let (live, number) = match self.current() {
            // A quarter full at most, so that searches are short.
            Some(table) if 4 * (table.used.load(Ordering::Relaxed) + 1) <= table.slots => return table,
            Some(table) => (table.live.load(Ordering::Relaxed), number),
            None => (0, 1),
        };
        let same_size = number / 2;
        // With an eighth of live entries, the twin has room for as many again.
        let slots = 1 << (SMALLEST as usize + same_size);
        let next = if self.current().is_some() && 8 * (live + 1) > slots {
            2 * (same_size + 1)
        } else {
            number ^ 1
        };
        let table = self.tables[next].get_or_init(|| Table::new(SMALLEST + next as u32 / 2, self.key_words));
        table.clear();
        if let Some(old) = self.current() {
            old.copy_to(table);
        }
        self.current.store(next, Ordering::Release);
        table
    }
}

impl Table {
    fn new(size: u32, key_words: usize) -> Self {
        let slots = 1_usize << size;
        let stride = HEADER + key_words;
        Self {
            words: (0..slots * stride).map(|_| AtomicU64::new(0)).collect(),
            slots,
            stride,
            used: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
        }
    }

    #[inline]
    fn slot(&self, index: usize) -> &[AtomicU64] {
        &self.words[index * self.stride..(index + 1) * self.stride]
    }

    /// The slots in the order in which a key is searched, beginning at its hash.
    #[inline]
    fn probe(&self, hash: u64) -> impl Iterator<Item = usize> {
        let mask = self.slots - 1;
        (0..self.slots).map(move |step| (hash as usize).wrapping_add(step) & mask)
    }

    #[inline]
    fn find(&self, hash: u64, shape: usize, key: &[u64]) -> Option<Value> {
        let wanted = label(hash, shape);
        for index in self.probe(hash) {
            let start = index * self.stride;
            // No longer than the key, whose length is known where this is compiled.
            let slot = self.words.get(start..start + HEADER + key.len())?;
            let version = slot[0].load(Ordering::Acquire);
            let value = Value(slot[1].load(Ordering::Relaxed));
            let same = holds(slot, wanted, key);
            if value != Value::EMPTY && !same {
                continue;
            }
            // What was read belongs together only if the slot was not written meanwhile.
            fence(Ordering::Acquire);
            if version % 2 == 1 || slot[0].load(Ordering::Relaxed) != version {
                continue;
            }
            return (value != Value::EMPTY).then_some(value);
        }
        None
    }

    /// The slot of a key, and its value. Only the thread that changes the table calls this, so nothing
    /// changes meanwhile.
    fn slot_of(&self, shape: usize, key: &[u64]) -> Option<(usize, Value)> {
        let hash = hash(shape, key);
        for index in self.probe(hash) {
            let slot = self.slot(index);
            let value = Value(slot[1].load(Ordering::Relaxed));
            if value == Value::EMPTY {
                return None;
            }
            if holds(slot, label(hash, shape), key) {
                return Some((index, value));
            }
        }
        None
    }

    /// Changes the value of a slot that has its key already.
    fn set(&self, index: usize, value: Value) {
        let before = self.slot(index)[1].load(Ordering::Relaxed);
        let live = |value: Value| usize::from(value.entry().is_some());
        let count = self.live.load(Ordering::Relaxed) + live(value) - live(Value(before));
        self.live.store(count, Ordering::Relaxed);
        // Readers may take either value: the key stays. What the value leads to was made before.
        self.write(index, |slot| slot[1].store(value.0, Ordering::Relaxed));
    }

    /// Adds a key that is not there, to a table that has an empty slot.
    fn add(&self, shape: usize, key: &[u64], value: Value) {
        let hash = hash(shape, key);
        let empty = self
            .probe(hash)
            .find(|index| self.slot(*index)[1].load(Ordering::Relaxed) == Value::EMPTY.0);
        let Some(index) = empty else { return };
        self.write(index, |slot| {
            slot[1].store(value.0, Ordering::Relaxed);
            slot[2].store(label(hash, shape), Ordering::Relaxed);
            for (word, key) in slot[HEADER..].iter().zip(key) {
                word.store(*key, Ordering::Relaxed);
            }
        });
        self.used
            .store(self.used.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.live
            .store(self.live.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Writes a slot so that no reader takes half of it for the whole.
    fn write(&self, index: usize, change: impl FnOnce(&[AtomicU64])) {
        let slot = self.slot(index);
        let version = slot[0].load(Ordering::Relaxed);
        slot[0].store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        change(slot);
        slot[0].store(version.wrapping_add(2), Ordering::Release);
    }

    /// Makes every slot empty. Late readers may still look.
    fn clear(&self) {
        for index in 0..self.slots {
            if self.slot(index)[1].load(Ordering::Relaxed) != Value::EMPTY.0 {
                self.write(index, |slot| slot[1].store(Value::EMPTY.0, Ordering::Relaxed));
            }
        }
        self.used.store(0, Ordering::Relaxed);
        self.live.store(0, Ordering::Relaxed);
    }

    /// Adds what is live here to another table, which is empty.
    fn copy_to(&self, other: &Self) {
        for index in 0..self.slots {
            let slot = self.slot(index);
            let value = Value(slot[1].load(Ordering::Relaxed));
            if value.entry().is_some() {
                let shape = (slot[2].load(Ordering::Relaxed) & SHAPE) as usize;
                let key: Vec<_> = slot[HEADER..]
                    .iter()
                    .map(|word| word.load(Ordering::Relaxed))
                    .collect();
                other.add(shape, &key, value);
            }
        }
    }
}

/// The label of a slot with a key of this hash, under this shape.
#[inline]
const fn label(hash: u64, shape: usize) -> u64 {
    hash & !SHAPE | shape as u64
}

/// Whether a slot has this label and this key. All words of a key are compared with one branch: where the
/// label is the same, nearly every slot has it.
#[inline]
fn holds(slot: &[AtomicU64], label: u64, key: &[u64]) -> bool {
    if slot[2].load(Ordering::Relaxed) != label {
        return false;
    }
    let words = slot[HEADER..].iter().zip(key);
    let difference = words.fold(0, |difference, (word, key)| {
        difference | (word.load(Ordering::Relaxed) ^ key)
    });
    difference == 0
}

/// A hash in whose every bit each word counts, in its place; words past the last whole [`KEY_BLOCK`] do not.
/// Keys come from the program itself, so nobody gains by collisions.
///
/// Two lanes take two words each at a time, so that one multiplication need not wait for the other.
#[inline]
fn hash(shape: usize, key: &[u64]) -> u64 {
    /// Odd numbers without pattern: the fractions of the golden ratio, of the square roots of 2 and 3, and of
    /// pi.
    const CONSTANTS: [u64; 4] = [
        0x9e37_79b9_7f4a_7c15,
        0x6a09_e667_f3bc_c909,
        0xbb67_ae85_84ca_a73b,
        0x243f_6a88_85a3_08d3,
    ];
    // Spread, so that no word can undo it.
    let shape = (shape as u64).wrapping_mul(CONSTANTS[0]);
    let mut lanes = [CONSTANTS[2], CONSTANTS[3] ^ shape];
    let mut take = |words: [u64; KEY_BLOCK]| {
        lanes[0] = fold(words[0] ^ CONSTANTS[0], words[1] ^ lanes[0]);
        lanes[1] = fold(words[2] ^ CONSTANTS[1], words[3] ^ lanes[1]);
    };
    let (blocks, _) = key.as_chunks::<KEY_BLOCK>();
    blocks.iter().for_each(|words| take(*words));
    fold(lanes[0] ^ CONSTANTS[0], lanes[1] ^ CONSTANTS[1])
}

/// Both halves of the product.
#[inline]
pub(super) fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
#[cfg(feature = "loom")]
mod orders;
#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The numbers that the table uses of a hash: of keys that differ little, hardly two fall together.
    #[test]
    fn small_differences_anywhere_give_other_hashes() {
        let mut hashes = HashSet::new();
        let mut low = HashSet::new();
        let mut add = |hash: u64| {
            assert!(hashes.insert(hash));
            low.insert(hash & 0xffff);
        };
        for length in 1..=10 {
            for place in 0..length {
                for value in [1, 2, 3, 64, 1 << 32, u64::MAX] {
                    for shape in 0..3 {
                        let mut key = vec![0; length];
                        key[place] = value;
                        // Keys of one table have one length: a zero at the end is no difference.
                        key.push(length as u64 + 100);
                        key.resize(key.len().next_multiple_of(KEY_BLOCK), 0);
                        add(hash(shape, &key));
                    }
                }
            }
        }
        // As many numbers at random would be some 7 fewer.
        assert!(low.len() + 30 > hashes.len(), "{} of {}", low.len(), hashes.len());
    }

    #[test]
    fn words_in_other_places_give_other_hashes() {
        for places in [[0, 1], [0, 2], [1, 3], [0, 4], [2, 7]] {
            let key: Vec<u64> = (10..18).collect();
            let mut swapped = key.clone();
            swapped.swap(places[0], places[1]);
            assert_ne!(hash(0, &key), hash(0, &swapped), "{places:?}");
        }
    }
}
