//! What a slot's stub knows of launches without asking: the keys whose launches run the same code from now
//! on.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use offloom_abi::jit_image::{Condition, INLINE_CACHE_PARAMETERS, InlineCache, InlineTable, Slot};

use crate::tracker::{LaunchKey, Tracker};

/// The most keys in a table: as many as a kernel has variants. Launches with others ask.
const MOST_KEYS: usize = 256;
/// How many factors are tried when keys fall together.
const FACTORS: u64 = 32;

/// The inline caches of one slot. One is replaced when the kernel is specialised to less, since it then
/// serves few launches. All are kept, since launches may be looking at them.
#[derive(Debug)]
pub struct InlineCaches(Mutex<Caches>);

#[derive(Debug)]
struct Caches {
    /// None once the image copy is being unloaded.
    slot: Option<&'static Slot>,
    published: Vec<Published>,
}

impl InlineCaches {
    /// None so far.
    pub fn new(slot: &'static Slot) -> Self {
        Self(Mutex::new(Caches {
            slot: Some(slot),
            published: Vec::new(),
        }))
    }

    /// Has the slot's stub run this for launches with the key: code that is never given up as long as the
    /// image copy is there, or ahead-of-time code. Nothing changes where argument words alone do not say that
    /// a launch has the key, for a key that launches no longer have since less is specialised, and for
    /// kernels with more parameters than there are conditions.
    pub fn publish(&self, tracker: &Tracker, key: &LaunchKey, code: Option<*const c_void>) {
        let mut caches = self.lock();
        let Some(slot) = caches.slot else { return };
        // Asked under the lock: a key of an earlier shape does not come after one of a later.
        let Some(guard) = tracker.guard(key) else { return };
        let parameters = slot.argument_count as usize;
        if !(1..=INLINE_CACHE_PARAMETERS).contains(&parameters) {
            return;
        }
        let code = code.map_or_else(
            || slot.ahead_of_time.load(Ordering::Relaxed),
            <*const _>::cast_mut,
        );
        let mut conditions = [Condition::default(); INLINE_CACHE_PARAMETERS];
        for (condition, (mask, value)) in conditions.iter_mut().zip(guard.conditions()) {
            *condition = Condition { mask, value };
        }
        let now = caches.published.last_mut();
        if let Some(now) = now.filter(|now| now.has_masks_of(&conditions)) {
            return now.add(code, &conditions, parameters);
        }
        let new = Published::new(code, conditions);
        let address = ptr::from_ref(&*new.cache).cast_mut();
        caches.published.push(new);
        slot.inline_cache.store(address, Ordering::Release);
    }

    /// Publishes nothing from now on: the slot is about to be unloaded.
    pub fn close(&self) {
        self.lock().slot = None;
    }

    fn lock(&self) -> MutexGuard<'_, Caches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cache that launches may be looking at.
#[derive(Debug)]
struct Published {
    cache: Box<InlineCache>,
    /// Of its other keys, the one that is looked at last.
    tables: Vec<Table>,
}

impl Published {
    fn new(code: *mut c_void, conditions: [Condition; INLINE_CACHE_PARAMETERS]) -> Self {
        Self {
            cache: Box::new(InlineCache {
                code: AtomicPtr::new(code),
                others: AtomicPtr::new(ptr::null_mut()),
                conditions,
            }),
            tables: Vec::new(),
        }
    }

    fn has_masks_of(&self, conditions: &[Condition]) -> bool {
        let both = self.cache.conditions.iter().zip(conditions);
        both.into_iter().all(|(ours, other)| ours.mask == other.mask)
    }

    /// Adds a key, if there is a place for it. One that is there already gets the new code.
    fn add(&mut self, code: *mut c_void, conditions: &[Condition], parameters: usize) {
        if self.cache.conditions == *conditions {
            return self.cache.code.store(code, Ordering::Release);
        }
        let values = conditions.iter().take(parameters).skip(1);
        let key: Vec<_> = [code.addr() as u64]
            .into_iter()
            .chain(values.map(|condition| condition.value))
            .collect();
        let now = self.tables.last_mut();
        if now.is_some_and(|now| now.replace_code(&key) || now.add(&key)) {
            return;
        }
        let Some(table) = Table::with(self.tables.last(), &key) else {
            return;
        };
        let address = ptr::from_ref(&*table.table).cast_mut();
        self.tables.push(table);
        self.cache.others.store(address, Ordering::Release);
    }
}

/// A table, and what it leads to.
#[derive(Debug)]
struct Table {
    table: Box<InlineTable>,
    /// The words of all keys, and of that with number 0.
    keys: Box<[Line]>,
    count: usize,
    words_of_key: usize,
}

/// A line of the processor's cache: short keys lie in one or two.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

impl Table {
    /// A table with the keys of another and one more, if all of them get a place.
    fn with(other: Option<&Self>, key: &[u64]) -> Option<Self> {
        if other.is_some_and(|other| other.count == MOST_KEYS) {
            return None;
        }
        let factors = (0..FACTORS).map(|index| InlineTable::GOLDEN_RATIO.wrapping_mul(2 * index + 1));
        factors.into_iter().find_map(|factor| {
            let mut table = Self::new(factor, key.len());
            let all = other.is_none_or(|other| other.keys().all(|key| table.add(&key)));
            (all && table.add(key)).then_some(table)
        })
    }

    fn new(factor: u64, parameters: usize) -> Self {
        let words_of_key = InlineTable::words_of_key(parameters);
        let lines = ((MOST_KEYS + 1) * words_of_key).div_ceil(8);
        let keys: Box<[_]> = (0..lines).map(|_| Line::default()).collect();
        let table = Box::new(InlineTable {
            factor,
            keys: AtomicPtr::new(keys.as_ptr().cast::<AtomicU64>().cast_mut()),
            places: [const { AtomicU16::new(0) }; InlineTable::PLACES],
        });
        Self {
            table,
            keys,
            count: 0,
            words_of_key,
        }
    }

    /// A word of the key with this number.
    fn word(&self, number: usize, index: usize) -> &AtomicU64 {
        let word = number * self.words_of_key + index;
        &self.keys[word / 8].0[word % 8]
    }

    /// The keys so far: code and values.
    fn keys(&self) -> impl Iterator<Item = Vec<u64>> {
        (1..=self.count).map(|number| {
            let words = (0..self.words_of_key).map(|index| self.word(number, index));
            words.map(|word| word.load(Ordering::Relaxed)).collect()
        })
    }

    /// Has a key that is there run other code; false if it is not there.
    fn replace_code(&self, key: &[u64]) -> bool {
        let has_its_values = |number: &usize| {
            let mut values = key.iter().enumerate().skip(1);
            values.all(|(index, value)| self.word(*number, index).load(Ordering::Relaxed) == *value)
        };
        let number = (1..=self.count).find(has_its_values);
        let code = number.map(|number| self.word(number, 0));
        code.inspect(|code| code.store(key[0], Ordering::Release))
            .is_some()
    }

    /// Adds a key that is not there, unless the table is full or other keys are in both its places.
    fn add(&mut self, key: &[u64]) -> bool {
        let hash = InlineTable::hash(key.iter().copied().skip(1));
        let places = InlineTable::places_of(hash, self.table.factor);
        let mut places = places.into_iter().map(|place| &self.table.places[place]);
        let free = places.find(|place| place.load(Ordering::Relaxed) == 0);
        let number = self.count + 1;
        let Some(place) = free.filter(|_| number <= MOST_KEYS) else {
            return false;
        };
        for (index, word) in key.iter().enumerate() {
            self.word(number, index).store(*word, Ordering::Relaxed);
        }
        place.store(number as u16, Ordering::Release);
        self.count = number;
        true
    }
}
