//! Launches on GPUs, as policy sees them.

use std::ops::Range;

use offloom_jit_variants::signature;

/// Launches from so many nanoseconds on are long: the device's clock measures to a microsecond, and little
/// else runs on the device.
pub const LONG: u64 = 1_000_000;

/// The time of a launch, if it counts: the first of a variant is slower than later ones by microseconds, so
/// it does if it is long.
pub fn counted(is_first: bool, nanoseconds: Option<u64>) -> Option<u64> {
    nanoseconds.filter(|nanoseconds| !is_first || *nanoseconds >= LONG)
}

/// A launch as the driver, or the device, is asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// One word for each of the kernel's parameters.
    pub words: &'a [u64],
    /// Blocks, in one direction.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

impl signature::Launch for Words<'_> {
    #[inline]
    fn arguments(&self) -> &[u64] {
        self.words
    }

    fn object(&self, _: usize, _: usize, _: usize) -> u64 {
        0
    }

    fn is_readable(&self, _: usize, _: Range<usize>) -> bool {
        false
    }

    #[inline]
    fn teams(&self) -> u32 {
        self.blocks
    }

    #[inline]
    fn threads(&self) -> u32 {
        self.threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_launch_of_a_variant_counts_if_it_is_long() {
        let short = LONG - 1;
        assert_eq!(counted(false, Some(short)), Some(short));
        assert_eq!(counted(true, Some(short)), None);
        assert_eq!(counted(true, Some(LONG)), Some(LONG));
        assert_eq!(counted(false, None), None);
    }
}
