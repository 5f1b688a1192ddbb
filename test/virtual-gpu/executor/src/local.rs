//! Local memory of the threads of a warp, with which bits of it were written.

use offloom_ptx_arithmetic::{LANES, Lanes};

use crate::lanes::{ALL, lanes};

/// What bytes hold that no one has written.
pub(crate) const PATTERN: u8 = 0xA5;
const PATTERN_WORD: u64 = u64::from_ne_bytes([PATTERN; 8]);

/// Rows of 8 bytes of each thread: the same offset of all threads lies together.
#[derive(Debug, Default)]
pub(crate) struct Local {
    rows: Vec<Lanes>,
    /// Ones are bits that no one has written.
    shadow: Vec<Lanes>,
}

impl Local {
    /// Makes bytes `from` to `to` unwritten for these lanes; both are multiples of 8. The shadow is kept if
    /// asked for.
    pub(crate) fn begin(&mut self, from: u32, to: u32, mask: u32, track: bool) {
        let (from, to) = (from as usize / 8, to as usize / 8);
        let old = self.rows.len();
        if old < to {
            self.rows.resize(to, [PATTERN_WORD; LANES]);
            self.shadow.resize(to, [if track { u64::MAX } else { 0 }; LANES]);
        }
        if !track {
            return;
        }
        for row in from..to.min(old) {
            if mask == ALL {
                self.rows[row] = [PATTERN_WORD; LANES];
                self.shadow[row] = [u64::MAX; LANES];
            } else {
                for lane in lanes(mask) {
                    self.rows[row][lane] = PATTERN_WORD;
                    self.shadow[row][lane] = u64::MAX;
                }
            }
        }
    }

    /// An element at a multiple of its size, and which bits of it were not written.
    #[inline]
    pub(crate) fn load(&self, lane: usize, offset: u32, size: u32) -> (u64, u64) {
        let row = offset as usize / 8;
        let (Some(value), Some(shadow)) = (self.rows.get(row), self.shadow.get(row)) else {
            return (PATTERN_WORD & mask(size), mask(size));
        };
        let shift = offset % 8 * 8;
        (
            (value[lane] >> shift) & mask(size),
            (shadow[lane] >> shift) & mask(size),
        )
    }

    /// Writes an element at a multiple of its size.
    #[inline]
    pub(crate) fn store(&mut self, lane: usize, offset: u32, size: u32, value: u64, shadow: u64) {
        let row = offset as usize / 8;
        let (Some(values), Some(shadows)) = (self.rows.get_mut(row), self.shadow.get_mut(row)) else {
            return;
        };
        let shift = offset % 8 * 8;
        let hole = !(mask(size) << shift);
        values[lane] = (values[lane] & hole) | ((value & mask(size)) << shift);
        shadows[lane] = (shadows[lane] & hole) | ((shadow & mask(size)) << shift);
    }

    /// The element at the same offset of all lanes, and which bits were not written.
    #[inline]
    pub(crate) fn load_all(&self, offset: u32, size: u32) -> Option<(Lanes, Lanes)> {
        let row = offset as usize / 8;
        let (values, shadows) = (self.rows.get(row)?, self.shadow.get(row)?);
        let (shift, keep) = (offset % 8 * 8, mask(size));
        let piece = |word: &u64| (word >> shift) & keep;
        Some((values.each_ref().map(piece), shadows.each_ref().map(piece)))
    }

    /// Copies bytes of one thread; both offsets are multiples of 8.
    pub(crate) fn copy(&mut self, lane: usize, to: u32, from: u32, size: u32) {
        let mut done = 0;
        while done < size {
            let left = size - done;
            let piece = if left >= 8 { 8 } else { 1 << left.ilog2() };
            let (value, shadow) = self.load(lane, from + done, piece);
            self.store(lane, to + done, piece, value, shadow);
            done += piece;
        }
    }
}

/// The bits of an element.
#[inline]
pub(crate) fn mask(size: u32) -> u64 {
    u64::MAX >> (64 - size.clamp(1, 8) * 8)
}
