//! Shared memory of a block, with which bits of it were written.

use offloom_ptx_arithmetic::{LANES, Lanes};

use crate::lanes::each;
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
        match size {
            1 => self.load_sized::<1>(offset),
            2 => self.load_sized::<2>(offset),
            4 => self.load_sized::<4>(offset),
            _ => self.load_sized::<8>(offset),
        }
    }

    #[inline]
    fn load_sized<const SIZE: usize>(&self, offset: usize) -> (u64, u64) {
        let range = offset..offset + SIZE;
        (
            number::<SIZE>(&self.bytes[range.clone()]),
            number::<SIZE>(&self.shadow[range]),
        )
    }

    /// The elements of these lanes, and which bits of them were not written; zeros for other lanes.
    #[inline]
    pub(crate) fn gather(&self, offsets: &Lanes, mask: u32, size: usize) -> (Lanes, Lanes) {
        let (mut value, mut shadow) = ([0; LANES], [0; LANES]);
        let mut put = |lane: usize, element| (value[lane], shadow[lane]) = element;
        // One loop for each size, so that no lane asks for the size again.
        match size {
            1 => each(mask, |lane| {
                put(lane, self.load_sized::<1>(offsets[lane] as usize));
            }),
            2 => each(mask, |lane| {
                put(lane, self.load_sized::<2>(offsets[lane] as usize));
            }),
            4 => each(mask, |lane| {
                put(lane, self.load_sized::<4>(offsets[lane] as usize));
            }),
            _ => each(mask, |lane| {
                put(lane, self.load_sized::<8>(offsets[lane] as usize));
            }),
        }
        (value, shadow)
    }

    /// Writes the elements of these lanes, from the lowest; all their bits are written then.
    #[inline]
    pub(crate) fn scatter(&mut self, offsets: &Lanes, mask: u32, size: usize, values: &Lanes) {
        match size {
            1 => each(mask, |lane| {
                self.store_sized::<1>(offsets[lane] as usize, values[lane], 0);
            }),
            2 => each(mask, |lane| {
                self.store_sized::<2>(offsets[lane] as usize, values[lane], 0);
            }),
            4 => each(mask, |lane| {
                self.store_sized::<4>(offsets[lane] as usize, values[lane], 0);
            }),
            _ => each(mask, |lane| {
                self.store_sized::<8>(offsets[lane] as usize, values[lane], 0);
            }),
        }
    }

    /// Writes an element.
    #[inline]
    pub(crate) fn store(&mut self, offset: usize, size: usize, value: u64, shadow: u64) {
        match size {
            1 => self.store_sized::<1>(offset, value, shadow),
            2 => self.store_sized::<2>(offset, value, shadow),
            4 => self.store_sized::<4>(offset, value, shadow),
            _ => self.store_sized::<8>(offset, value, shadow),
        }
    }

    #[inline]
    fn store_sized<const SIZE: usize>(&mut self, offset: usize, value: u64, shadow: u64) {
        let range = offset..offset + SIZE;
        self.bytes[range.clone()].copy_from_slice(&value.to_le_bytes()[..SIZE]);
        self.shadow[range].copy_from_slice(&shadow.to_le_bytes()[..SIZE]);
    }
}

#[inline]
fn number<const SIZE: usize>(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..SIZE].copy_from_slice(&bytes[..SIZE]);
    u64::from_le_bytes(word)
}
