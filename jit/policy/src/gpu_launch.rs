//! Launches on GPUs, as policy sees them.

use std::ops::Range;

use offloom_jit_variants::signature;

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
