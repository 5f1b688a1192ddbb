//! A launch as its kernel's stub hands it over: argument words.

use offloom_jit_cache::signature::Launch;

/// Below this, an address is a null pointer with an offset.
const FIRST_PAGE: u64 = 4096;

/// The argument words of one launch, on the launching thread's stack.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentWords<'a>(&'a [u64]);

impl<'a> ArgumentWords<'a> {
    /// # Safety
    /// `words` points to `count` words that outlive this. Objects behind pointer arguments, as far as the bundle says that the
    /// kernel reads them, are readable.
    pub(crate) unsafe fn new(words: *const u64, count: u32) -> Self {
        // SAFETY: as the caller promises.
        Self(unsafe { std::slice::from_raw_parts(words, count as usize) })
    }
}

impl Launch for ArgumentWords<'_> {
    #[inline]
    fn arguments(&self) -> &[u64] {
        self.0
    }

    #[inline]
    fn object(&self, index: usize, offset: usize, length: usize) -> u64 {
        let address = self.argument(index);
        if address < FIRST_PAGE {
            // The kernel would crash if it read it.
            return 0;
        }
        let mut bytes = [0; 8];
        let length = length.min(bytes.len());
        // SAFETY: the link found that the kernel reads these bytes at every launch, so they are there; they are copied bytewise,
        // whatever their alignment.
        unsafe {
            let start = (address as *const u8).add(offset);
            std::ptr::copy_nonoverlapping(start, bytes.as_mut_ptr(), length);
        }
        u64::from_le_bytes(bytes)
    }
}
