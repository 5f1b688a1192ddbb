//! Pages of the process, for memory of hosts and of devices.

use std::ffi::c_void;
use std::ptr;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect, munmap};

/// Granule and alignment of allocations, in bytes.
pub(crate) const PAGE: usize = 4096;

/// Pages, which are zero at first and go back when this is dropped.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Where programs are told that they are.
    pub(crate) address: usize,
    /// Where the runtime itself reads and writes them. Those of a device are mapped there a second time.
    inside: usize,
    /// Bytes that were asked for.
    pub(crate) size: usize,
}

impl Pages {
    /// Pages of the host for `size` bytes, which is not zero. `None`: the system has no more.
    pub(crate) fn of_host(size: usize) -> Option<Self> {
        let mapped = size.checked_next_multiple_of(PAGE)?;
        // SAFETY: new pages at a place of the system's choice overlap with nothing.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), mapped, read_and_write(), MapFlags::PRIVATE) };
        let address = start.ok()?.expose_provenance();
        Some(Self {
            address,
            inside: address,
            size,
        })
    }

    /// Pages of a device for `size` bytes, which is not zero: the program cannot touch them until they are
    /// opened. `None`: the system has no more.
    pub(crate) fn of_device(size: usize) -> Option<Self> {
        let mapped = size.checked_next_multiple_of(PAGE)?;
        let file = memfd_create(c"virtual HSA", MemfdFlags::CLOEXEC).ok()?;
        ftruncate(&file, mapped as u64).ok()?;
        let map = |protection| {
            // SAFETY: as above; the file has so many bytes.
            let start = unsafe { mmap(ptr::null_mut(), mapped, protection, MapFlags::SHARED, &file, 0) };
            start.ok().map(<*mut c_void>::expose_provenance)
        };
        let inside = map(read_and_write())?;
        let mut pages = Self {
            address: inside,
            inside,
            size,
        };
        // What was mapped goes back if this fails.
        pages.address = map(ProtFlags::empty())?;
        Some(pages)
    }

    /// Where the runtime itself reads and writes what programs know at `address`.
    pub(crate) fn inside(&self, address: usize) -> usize {
        self.inside + (address - self.address)
    }

    /// Lets the program touch pages of a device, or no longer.
    pub(super) fn set_open(&self, is_open: bool) {
        if self.inside == self.address {
            return;
        }
        let flags = if is_open {
            MprotectFlags::READ | MprotectFlags::WRITE
        } else {
            MprotectFlags::empty()
        };
        // SAFETY: these are the pages of `of_device`, and nothing here refers to them by this address. What
        // cannot be opened, the program cannot touch.
        let _ = unsafe { mprotect(pointer(self.address), self.mapped(), flags) };
    }

    /// Copies bytes to an offset. `false`: they do not fit there.
    #[must_use]
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) -> bool {
        if offset.checked_add(bytes.len()).is_none_or(|end| end > self.size) {
            return false;
        }
        let to = pointer(self.inside + offset).cast::<u8>();
        // SAFETY: the pages are mapped, to be written, and hold that many bytes from there; `bytes` is no
        // part of them, since nothing borrows from pages.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        true
    }

    /// Bytes that are mapped.
    fn mapped(&self) -> usize {
        self.size.next_multiple_of(PAGE)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: these are the pages of `of_host` or `of_device`; that the program uses them no more is its
        // promise. What cannot be given back stays.
        let _ = unsafe { munmap(pointer(self.inside), self.mapped()) };
        if self.inside != self.address {
            // SAFETY: as above.
            let _ = unsafe { munmap(pointer(self.address), self.mapped()) };
        }
    }
}

fn read_and_write() -> ProtFlags {
    ProtFlags::READ | ProtFlags::WRITE
}

fn pointer(address: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    /// The number at an address.
    fn read(address: usize) -> u8 {
        // SAFETY: the tests have mapped it.
        unsafe { pointer(address).cast::<u8>().read() }
    }

    /// Whether the process may read an address: asked of the system, which does not end the process.
    fn is_readable(address: usize) -> bool {
        let file = memfd_create(c"test", MemfdFlags::CLOEXEC).unwrap();
        // SAFETY: the system reads it, and says so if it cannot.
        unsafe { libc::write(file.as_raw_fd(), pointer(address), 1) == 1 }
    }

    #[test]
    fn pages_are_zero_and_hold_what_fits() {
        let mut pages = Pages::of_host(10).unwrap();
        assert!(pages.write(9, &[1]) && !pages.write(3, &[1; 8]) && !pages.write(usize::MAX, &[1]));
        assert_eq!([8, 9].map(|offset| read(pages.address + offset)), [0, 1]);
    }

    #[test]
    fn pages_of_a_device_are_the_program_s_while_they_are_open() {
        let mut pages = Pages::of_device(10).unwrap();
        assert!(pages.write(9, &[7]));
        assert_eq!(read(pages.inside(pages.address + 9)), 7);
        assert!(!is_readable(pages.address));
        pages.set_open(true);
        assert!(is_readable(pages.address));
        assert_eq!(read(pages.address + 9), 7);
        pages.set_open(false);
        assert!(!is_readable(pages.address));
    }
}
