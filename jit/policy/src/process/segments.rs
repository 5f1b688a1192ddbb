//! Where in a loaded library a word may have to be replaced: its writable memory, as its program headers say.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a word.
const WORD: usize = size_of::<usize>();

/// A program header, as far as it matters here: addresses are relative to the library's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header {
    /// `p_type`.
    pub kind: u32,
    /// `p_flags`.
    pub flags: u32,
    /// `p_vaddr`.
    pub address: usize,
    /// `p_memsz`.
    pub size: usize,
}

impl Header {
    fn range(&self) -> Range<usize> {
        self.address..self.address.saturating_add(self.size)
    }
}

/// Whether the library holds this address, relative to its own.
pub fn contains(headers: &[Header], address: usize) -> bool {
    loaded(headers).any(|header| header.range().contains(&address))
}

/// The memory that the library may write to once it is loaded, relative to its address: what is to be written
/// to, without what is only written to by the loader (`PT_GNU_RELRO`), which protects whole pages of so many
/// bytes.
pub fn writable(headers: &[Header], page: usize) -> Vec<Range<usize>> {
    let protected = headers
        .iter()
        .filter(|header| header.kind == libc::PT_GNU_RELRO)
        // The loader leaves the last page alone where only a part of it is to be protected.
        .map(|header| header.address / page * page..header.range().end / page * page);
    let protected: Vec<_> = protected.collect();
    let mut ranges: Vec<_> = loaded(headers)
        .filter(|header| header.flags & libc::PF_W != 0)
        .map(Header::range)
        .collect();
    for cut in protected {
        let pieces = ranges.into_iter().flat_map(|range| {
            let before = range.start..range.end.min(cut.start).max(range.start);
            let behind = range.start.max(cut.end).min(range.end)..range.end;
            if cut.is_empty() {
                [range, 0..0]
            } else {
                [before, behind]
            }
        });
        ranges = pieces.filter(|range| !range.is_empty()).collect();
    }
    ranges
}

fn loaded(headers: &[Header]) -> impl Iterator<Item = &Header> {
    headers.iter().filter(|header| header.kind == libc::PT_LOAD)
}

/// The words of memory with one of several values: for each value the addresses where it is.
///
/// # Safety
/// The memory is mapped and may be read for as long as this takes. Others may write to it at the same time.
pub unsafe fn find(memory: &[Range<usize>], values: &[usize]) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); values.len()];
    for range in memory {
        let start = range.start.next_multiple_of(WORD);
        let end = range.end / WORD * WORD;
        for address in (start..end).step_by(WORD) {
            // SAFETY: an aligned word within memory that the caller promises; read atomically, since others
            // may write.
            let word = unsafe { &*std::ptr::with_exposed_provenance::<AtomicUsize>(address) };
            let value = word.load(Ordering::Relaxed);
            if value == 0 {
                continue;
            }
            for (place, _) in values.iter().enumerate().filter(|(_, wanted)| **wanted == value) {
                found[place].push(address);
            }
        }
    }
    found
}

/// Replaces a word, in one step for those who read it.
///
/// # Safety
/// An aligned word that [`find`] found, in memory that may be written to, is at this address.
pub unsafe fn replace(address: usize, old: usize, new: usize) -> bool {
    // SAFETY: as the caller promises.
    let word = unsafe { &*std::ptr::with_exposed_provenance::<AtomicUsize>(address) };
    word.compare_exchange(old, new, Ordering::Release, Ordering::Relaxed)
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: u32 = libc::PF_R | libc::PF_W;
    const PAGE: usize = 4096;

    fn header(kind: u32, flags: u32, address: usize, size: usize) -> Header {
        Header {
            kind,
            flags,
            address,
            size,
        }
    }

    fn vec_of(range: Range<usize>) -> Vec<Range<usize>> {
        std::iter::once(range).collect()
    }

    #[test]
    fn what_the_loader_protects_is_not_writable() {
        // As in libomptarget 19: the protected part ends on a page, and data and bss follow in the same
        // segment.
        let headers = [
            header(libc::PT_LOAD, libc::PF_R | libc::PF_X, 0, 0xc6388),
            header(libc::PT_LOAD, WRITE, 0xc73b0, 0x2880),
            header(libc::PT_GNU_RELRO, WRITE, 0xc73b0, 0x1c50),
        ];
        assert_eq!(writable(&headers, PAGE), vec_of(0xc9000..0xc9c30));
        assert!(contains(&headers, 0xc73b0));
        assert!(!contains(&headers, 0xc6400));

        // A protected part that ends within a page: the loader leaves that page.
        let headers = [
            header(libc::PT_LOAD, WRITE, 0x1000, 0x5000),
            header(libc::PT_GNU_RELRO, WRITE, 0x2000, 0x1800),
        ];
        assert_eq!(writable(&headers, PAGE), [0x1000..0x2000, 0x3000..0x6000]);
        let headers = [
            header(libc::PT_LOAD, WRITE, 0x1000, 0x500),
            header(libc::PT_GNU_RELRO, WRITE, 0x1000, 0x400),
            header(libc::PT_DYNAMIC, WRITE, 0x1100, 0x100),
        ];
        assert_eq!(writable(&headers, PAGE), vec_of(0x1000..0x1500));
        assert_eq!(
            writable(&[header(libc::PT_LOAD, WRITE, usize::MAX - 4, 100)], PAGE).len(),
            1
        );
        assert!(writable(&[], PAGE).is_empty());
    }

    #[test]
    fn words_are_found_where_they_are_and_replaced() {
        let words = [7_usize, 0, 9, 7, 1].map(AtomicUsize::new);
        let start = words.as_ptr().expose_provenance();
        let memory = start + 1..start + size_of_val(&words);
        // SAFETY: the words live on; they are read and written atomically.
        unsafe {
            let found = find(&[memory], &[7, 9, 5, 0]);
            // The first word begins before the memory.
            assert_eq!(found, [vec![start + 24], vec![start + 16], vec![], vec![]]);
            assert!(replace(start + 16, 9, 11));
            assert!(!replace(start + 16, 9, 12));
        }
        assert_eq!(words[2].load(Ordering::Relaxed), 11);
    }
}
