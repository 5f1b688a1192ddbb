//! A launch as its kernel's stub hands it over: argument words.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

use offloom_jit_cache::dump::PAGE;
use offloom_jit_variants::signature::Launch;

/// Below this, an address is a null pointer with an offset.
const FIRST_PAGE: u64 = PAGE;
/// Bytes of a word, and of the system's set of signals.
const WORD: u64 = 8;

/// The argument words of one launch, on the launching thread's stack.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentWords<'a>(&'a [u64]);

impl<'a> ArgumentWords<'a> {
    /// # Safety
    /// `words` points to `count` words that outlive this. Objects behind pointer arguments, as far as the
    /// bundle says that the kernel reads them at every launch, are readable.
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
        // SAFETY: the link found that the kernel reads these bytes at every launch, or they were found to be
        // readable, so they are there; they are copied bytewise, whatever their alignment.
        unsafe {
            let start = (address as *const u8).add(offset);
            ptr::copy_nonoverlapping(start, bytes.as_mut_ptr(), length);
        }
        u64::from_le_bytes(bytes)
    }

    #[inline(never)]
    fn is_readable(&self, index: usize, bytes: Range<usize>) -> bool {
        let address = self.argument(index);
        let (first, last) = (bytes.start as u64, bytes.end.saturating_sub(1) as u64);
        let word = |offset: u64| address.wrapping_add(offset) & !(WORD - 1);
        // No object is larger than a page, so it lies in the pages of its first and its last byte.
        let (first, last) = (word(first), word(last));
        address < FIRST_PAGE || is_readable(first) && (first / PAGE == last / PAGE || is_readable(last))
    }
}

/// Whether the word at an aligned address can be read. The system is asked to take it for a set of signals
/// and to do with it what it does not know: it reads the word before it says so.
fn is_readable(address: u64) -> bool {
    // SAFETY: always valid; the C library gives each thread its own.
    let error = unsafe { &mut *libc::__errno_location() };
    let before = *error;
    let nothing = ptr::null_mut::<c_void>();
    // SAFETY: the system checks the address, and changes nothing.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            -1_isize,
            address as *const c_void,
            nothing,
            WORD,
        )
    };
    let cannot = result == -1 && *error == libc::EFAULT;
    // The kernel may look at the error of the launching code.
    *error = before;
    !cannot
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
    use rustix::param::page_size;

    #[test]
    fn what_is_in_no_memory_is_not_readable() {
        let page = page_size();
        let size = 2 * page;
        // SAFETY: memory of its own, given back at the end.
        let pages = unsafe {
            let pages = mmap_anonymous(ptr::null_mut(), size, ProtFlags::READ, MapFlags::PRIVATE).unwrap();
            mprotect(pages.byte_add(page), page, MprotectFlags::empty()).unwrap();
            pages
        };
        let end = pages as u64 + page as u64;
        let arguments = [end - 24, 16, end + 8];
        // SAFETY: three words that outlive it.
        let launch = unsafe { ArgumentWords::new(arguments.as_ptr(), 3) };
        assert!(launch.is_readable(0, 0..24));
        assert!(!launch.is_readable(0, 0..25));
        assert!(!launch.is_readable(0, 24..32));
        assert!(launch.is_readable(0, 4..12));
        assert!(launch.is_readable(1, 0..256), "a null pointer is taken for zeros");
        assert!(!launch.is_readable(2, 0..1));
        // SAFETY: the memory from above.
        unsafe { munmap(pages, size).unwrap() };
    }
}
