//! Bytes that several threads read and write at the same time, some of them outside of Rust.
//!
//! Host memory for `cuMemAllocHost` is written by the program under test while kernels run, so no Rust
//! reference to such bytes may exist. All accesses here go through atomics made for one access at a time: in
//! range, aligned, and of a region that is alive as long as the [`Region`] is.
#![expect(
    unsafe_code,
    reason = "memory that the program under test shares has no owner in Rust; accesses are checked here"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use offloom_ptx_arithmetic::{LANES, Lanes};

use crate::lanes::each;

/// Zeroed bytes with a fixed address.
#[derive(Debug)]
pub(crate) struct Region {
    start: NonNull<u8>,
    layout: Layout,
    length: usize,
    /// Whether it is to be given back.
    is_owned: bool,
}

// SAFETY: the region owns its memory, which no thread owns in particular.
unsafe impl Send for Region {}
// SAFETY: all accesses are atomic.
unsafe impl Sync for Region {}

impl Region {
    /// `length` zeroed bytes at a multiple of `alignment`, a power of two of at least 8. `None` where there
    /// is no memory or the length is 0.
    pub(crate) fn new(length: usize, alignment: usize) -> Option<Self> {
        // Whole words, so that the last bytes can be read as part of one.
        let layout = Layout::from_size_align(length.checked_next_multiple_of(8)?, alignment.max(8)).ok()?;
        if length == 0 {
            return None;
        }
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self {
            start,
            layout,
            length,
            is_owned: true,
        })
    }

    /// Memory of the program that it may read and write: `length` bytes at `address`, both multiples of 8.
    ///
    /// That it stays there while kernels access it is the program's promise, as it is on a device.
    pub(crate) fn of_program(address: u64, length: u64) -> Option<Self> {
        let (address, length) = (usize::try_from(address).ok()?, usize::try_from(length).ok()?);
        if !address.is_multiple_of(8) || !length.is_multiple_of(8) || length == 0 {
            return None;
        }
        Some(Self {
            start: NonNull::new(std::ptr::with_exposed_provenance_mut(address))?,
            layout: Layout::from_size_align(length, 8).ok()?,
            length,
            is_owned: false,
        })
    }

    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The address for the host.
    pub(crate) fn host_address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    #[inline]
    fn at(&self, offset: usize, size: usize) -> *mut u8 {
        assert!(
            size <= self.layout.size() && offset <= self.layout.size() - size && offset.is_multiple_of(size),
            "an access outside of its region: offset {offset}, {size} bytes, of {}",
            self.length
        );
        // SAFETY: the assertion keeps the pointer inside the allocation.
        unsafe { self.start.as_ptr().add(offset) }
    }

    #[inline]
    fn byte(&self, offset: usize) -> &AtomicU8 {
        // SAFETY: `at` checks range and alignment; the reference lives as long as the region; all accesses
        // are atomic.
        unsafe { AtomicU8::from_ptr(self.at(offset, 1)) }
    }

    #[inline]
    fn half(&self, offset: usize) -> &AtomicU16 {
        // SAFETY: as in `byte`; the start is a multiple of 8 and the offset one of 2.
        unsafe { AtomicU16::from_ptr(self.at(offset, 2).cast()) }
    }

    #[inline]
    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: as in `byte`; the start is a multiple of 8 and the offset one of 4.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }

    #[inline]
    fn double(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as in `byte`; start and offset are multiples of 8.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// The element of 1, 2, 4 or 8 bytes at a multiple of its size.
    #[inline]
    pub(crate) fn load(&self, offset: usize, size: usize) -> u64 {
        match size {
            1 => self.byte(offset).load(Ordering::Acquire).into(),
            2 => self.half(offset).load(Ordering::Acquire).into(),
            4 => self.word(offset).load(Ordering::Acquire).into(),
            _ => self.double(offset).load(Ordering::Acquire),
        }
    }

    /// The elements of these lanes, as [`Self::load`] gives them; zeros for other lanes.
    #[inline]
    pub(crate) fn gather(&self, offsets: &Lanes, mask: u32, size: usize) -> Lanes {
        let mut values = [0; LANES];
        // One loop for each size, so that no lane asks for the size again.
        match size {
            1 => each(mask, |lane| values[lane] = self.load(offsets[lane] as usize, 1)),
            2 => each(mask, |lane| values[lane] = self.load(offsets[lane] as usize, 2)),
            4 => each(mask, |lane| values[lane] = self.load(offsets[lane] as usize, 4)),
            _ => each(mask, |lane| values[lane] = self.load(offsets[lane] as usize, 8)),
        }
        values
    }

    /// Writes an element of 1, 2, 4 or 8 bytes at a multiple of its size.
    #[inline]
    pub(crate) fn store(&self, offset: usize, size: usize, value: u64) {
        match size {
            1 => self.byte(offset).store(value as u8, Ordering::Release),
            2 => self.half(offset).store(value as u16, Ordering::Release),
            4 => self.word(offset).store(value as u32, Ordering::Release),
            _ => self.double(offset).store(value, Ordering::Release),
        }
    }

    /// Writes the elements of these lanes, from the lowest, as [`Self::store`] does.
    #[inline]
    pub(crate) fn scatter(&self, offsets: &Lanes, mask: u32, size: usize, values: &Lanes) {
        match size {
            1 => each(mask, |lane| self.store(offsets[lane] as usize, 1, values[lane])),
            2 => each(mask, |lane| self.store(offsets[lane] as usize, 2, values[lane])),
            4 => each(mask, |lane| self.store(offsets[lane] as usize, 4, values[lane])),
            _ => each(mask, |lane| self.store(offsets[lane] as usize, 8, values[lane])),
        }
    }

    /// Replaces an element of 2, 4 or 8 bytes by what `change` makes of it, in one step for all threads, and
    /// returns what was there.
    #[inline]
    pub(crate) fn update(&self, offset: usize, size: usize, change: impl Fn(u64) -> u64) -> u64 {
        const ORDER: Ordering = Ordering::SeqCst;
        match size {
            2 => {
                let changed = |old: u16| Some(change(old.into()) as u16);
                let (Ok(old) | Err(old)) = self.half(offset).fetch_update(ORDER, ORDER, changed);
                old.into()
            }
            4 => {
                let changed = |old: u32| Some(change(old.into()) as u32);
                let (Ok(old) | Err(old)) = self.word(offset).fetch_update(ORDER, ORDER, changed);
                old.into()
            }
            _ => {
                let changed = |old: u64| Some(change(old));
                let (Ok(old) | Err(old)) = self.double(offset).fetch_update(ORDER, ORDER, changed);
                old
            }
        }
    }

    /// Copies bytes out, word by word where both are aligned.
    pub(crate) fn read(&self, mut offset: usize, mut bytes: &mut [u8]) {
        while !offset.is_multiple_of(8) && !bytes.is_empty() {
            bytes[0] = self.load(offset, 1) as u8;
            bytes = &mut bytes[1..];
            offset += 1;
        }
        let mut words = bytes.chunks_exact_mut(8);
        for word in &mut words {
            word.copy_from_slice(&self.load(offset, 8).to_ne_bytes());
            offset += 8;
        }
        for byte in words.into_remainder() {
            *byte = self.load(offset, 1) as u8;
            offset += 1;
        }
    }

    /// Copies bytes in, word by word where that is aligned.
    pub(crate) fn write(&self, mut offset: usize, mut bytes: &[u8]) {
        while !offset.is_multiple_of(8) && !bytes.is_empty() {
            self.store(offset, 1, bytes[0].into());
            bytes = &bytes[1..];
            offset += 1;
        }
        let words = bytes.chunks_exact(8);
        let rest = words.remainder();
        for word in words {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(word);
            self.store(offset, 8, u64::from_ne_bytes(bytes));
            offset += 8;
        }
        for &byte in rest {
            self.store(offset, 1, byte.into());
            offset += 1;
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.is_owned {
            // SAFETY: allocated in `new` with this layout; accesses borrow the region, so none is under way.
            unsafe { dealloc(self.start.as_ptr(), self.layout) }
        }
    }
}
