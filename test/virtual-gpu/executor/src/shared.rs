//! Shared memory of a block, with which bits of it were written.

use crate::local::PATTERN;

/// Shared memory. One host thread runs a block, so nothing here is atomic.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    bytes: Vec<u8>,
    /// Ones are bits that no one has written.
    shadow: Vec<u8>,
}

impl Shared {
    /// Begins a block: `size` bytes, of which these ranges (offset and size) are used.
    pub(crate) fn begin(&mut self, size: usize, ranges: &[(u32, u32)], track: bool) {
        self.bytes.resize(size, PATTERN);
        self.shadow.resize(size, 0);
        for &(offset, length) in ranges {
            let range = offset as usize..(offset as usize).saturating_add(length as usize);
            if let (Some(bytes), Some(shadow)) =
                (self.bytes.get_mut(range.clone()), self.shadow.get_mut(range))
            {
                bytes.fill(PATTERN);
                shadow.fill(if track { 0xFF } else { 0 });
            }
        }
    }

    /// The bytes that there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// An element, and which bits of it were not written.
    #[inline]
    pub(crate) fn load(&self, offset: usize, size: usize) -> (u64, u64) {
        (
            number(&self.bytes[offset..offset + size]),
            number(&self.shadow[offset..offset + size]),
        )
    }

    /// Writes an element.
    #[inline]
    pub(crate) fn store(&mut self, offset: usize, size: usize, value: u64, shadow: u64) {
        self.bytes[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
        self.shadow[offset..offset + size].copy_from_slice(&shadow.to_le_bytes()[..size]);
    }
}

#[inline]
fn number(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    match bytes.len() {
        4 => word[..4].copy_from_slice(bytes),
        8 => word.copy_from_slice(bytes),
        size => word[..size].copy_from_slice(bytes),
    }
    u64::from_le_bytes(word)
}
