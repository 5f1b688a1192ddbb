//! The C library's heap.

use std::ffi::c_void;

/// Has so many bytes at the begin of the heap's unused end in memory, so that whoever gets them does not wait
/// for one page after the other. Fewer where the end is shorter, and none where the system does not do that
/// (before Linux 5.14).
pub fn populate_heap(bytes: usize) {
    // SAFETY: only asks.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1);
    // SAFETY: the block, where there is one, is freed, and only tells where the allocator is. To populate
    // changes no byte of what is mapped, nor anything where nothing is mapped.
    unsafe {
        let block = libc::malloc(1);
        libc::free(block);
        let begin = block.addr().next_multiple_of(page);
        // Memory that is not the heap's is elsewhere, further than all of it.
        let end = libc::sbrk(0).addr().min(begin.saturating_add(bytes));
        if !block.is_null() && begin < end {
            let begin = block.wrapping_byte_add(begin - block.addr());
            libc::madvise(
                begin.cast::<c_void>(),
                end - begin.addr(),
                libc::MADV_POPULATE_WRITE,
            );
        }
    }
}
