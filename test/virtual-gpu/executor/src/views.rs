//! What a host thread remembers of allocations, so that accesses need no lock.

use std::sync::Arc;

use crate::memory::{Allocation, Memory};

/// Allocations that were accessed last.
#[derive(Debug)]
pub(crate) struct Views<'a> {
    memory: &'a Memory,
    epoch: u64,
    entries: [Option<Arc<Allocation>>; 8],
    last: usize,
    next: usize,
}

impl<'a> Views<'a> {
    pub(crate) fn new(memory: &'a Memory) -> Self {
        Self {
            memory,
            epoch: memory.epoch(),
            entries: Default::default(),
            last: 0,
            next: 0,
        }
    }

    /// Forgets what was freed; before each instruction that accesses memory.
    #[inline]
    pub(crate) fn refresh(&mut self) {
        let epoch = self.memory.epoch();
        if epoch != self.epoch {
            self.entries = Default::default();
            self.epoch = epoch;
        }
    }

    /// The live allocation of these bytes, and the offset in it.
    #[inline]
    pub(crate) fn find(&mut self, address: u64, size: u64) -> Option<(&Allocation, usize)> {
        let last = self.entries[self.last]
            .as_ref()
            .and_then(|view| view.offset(address, size));
        let offset = match last {
            Some(offset) => offset,
            None => self.search(address, size)?,
        };
        Some((self.entries[self.last].as_deref()?, offset))
    }

    fn search(&mut self, address: u64, size: u64) -> Option<usize> {
        for (index, entry) in self.entries.iter().enumerate() {
            if let Some(offset) = entry.as_ref().and_then(|view| view.offset(address, size)) {
                self.last = index;
                return Some(offset);
            }
        }
        let found = self.memory.reached(address, size)?;
        let offset = found.offset(address, size)?;
        self.last = self.next;
        self.next = (self.next + 1) % self.entries.len();
        self.entries[self.last] = Some(found);
        Some(offset)
    }

    /// The memory.
    pub(crate) fn memory(&self) -> &'a Memory {
        self.memory
    }
}
