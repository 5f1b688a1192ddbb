//! Launches for tests, and tests of two threads in every order.

use std::ops::Range;

use crate::signature::Launch;

/// A launch that is all there in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    pub(crate) arguments: Vec<u64>,
    /// Objects by the index of the argument that leads to them.
    pub(crate) objects: Vec<(usize, Vec<u8>)>,
    pub(crate) teams: u32,
    pub(crate) threads: u32,
}

impl Words {
    /// A launch with only argument words.
    pub(crate) fn of(arguments: impl Into<Vec<u64>>) -> Self {
        Self {
            arguments: arguments.into(),
            ..Self::default()
        }
    }
}

impl Launch for Words {
    fn arguments(&self) -> &[u64] {
        &self.arguments
    }

    fn object(&self, index: usize, offset: usize, length: usize) -> u64 {
        let object = self.objects.iter().find(|(argument, _)| *argument == index);
        let bytes = &object.unwrap().1[offset..offset + length];
        let mut word = [0; 8];
        word[..length].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }

    fn is_readable(&self, index: usize, bytes: Range<usize>) -> bool {
        let object = self.objects.iter().find(|(argument, _)| *argument == index);
        object.is_some_and(|(_, object)| object.get(bytes).is_some())
    }

    fn teams(&self) -> u32 {
        self.teams
    }

    fn threads(&self) -> u32 {
        self.threads
    }
}

/// Has loom run `other` on a thread of its own beside `one`, on what `make` makes, and then `look`, in every
/// order that the memory model allows where each thread is stopped in the middle `switches` times at most:
/// with more, a run takes minutes.
#[cfg(feature = "loom")]
pub(crate) fn in_every_order<T: 'static>(
    switches: usize,
    make: fn() -> T,
    one: fn(&T),
    other: fn(&T),
    look: fn(&T),
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(move || {
        let shared = loom::sync::Arc::new(make());
        let thread = loom::thread::spawn({
            let shared = loom::sync::Arc::clone(&shared);
            move || other(&shared)
        });
        // Without it loom tries no order in which the other thread is first.
        loom::thread::yield_now();
        one(&shared);
        thread.join().unwrap();
        look(&shared);
    });
}
