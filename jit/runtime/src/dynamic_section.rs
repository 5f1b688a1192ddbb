//! The dynamic section of a program or library that is loaded: what the loader goes by.

use std::ptr;
use std::slice;

/// Tags of entries (`<elf.h>`).
pub(crate) mod tag {
    /// The last entry.
    pub(super) const END: i64 = 0;
    /// A needed library: offset of its name in the strings.
    pub(crate) const NEEDED: i64 = 1;
    /// Bytes of [`IMPORTED_FUNCTIONS`].
    pub(crate) const SIZE_OF_IMPORTED_FUNCTIONS: i64 = 2;
    /// Address of the strings.
    pub(crate) const STRINGS: i64 = 5;
    /// Address of the symbols.
    pub(crate) const SYMBOLS: i64 = 6;
    /// Address of the relocations.
    pub(crate) const RELOCATIONS: i64 = 7;
    /// Bytes of [`RELOCATIONS`].
    pub(crate) const SIZE_OF_RELOCATIONS: i64 = 8;
    /// Address of the relocations of imported functions.
    pub(crate) const IMPORTED_FUNCTIONS: i64 = 23;
    /// How many of [`RELOCATIONS`] have no symbol; they come first.
    pub(crate) const RELOCATIONS_WITHOUT_SYMBOL: i64 = 0x6fff_fff9;
}

/// An entry (`Elf64_Dyn` of `<elf.h>`).
#[repr(C)]
struct Entry {
    tag: i64,
    value: u64,
}

/// A dynamic section in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DynamicSection {
    first: *const Entry,
    /// What is to be added to its addresses.
    base: usize,
}

/// The program headers of an object.
///
/// # Safety
/// The loader has passed the record to a callback of `dl_iterate_phdr`, which has not returned yet.
pub(crate) unsafe fn headers(info: &libc::dl_phdr_info) -> &[libc::Elf64_Phdr] {
    // SAFETY: there are as many as the record says, while it is valid.
    unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
}

impl DynamicSection {
    /// That of an object with these program headers that is loaded at `base`, if it has one.
    ///
    /// # Safety
    /// The object stays loaded as long as the section is used.
    pub(crate) unsafe fn of(headers: &[libc::Elf64_Phdr], base: usize) -> Option<Self> {
        let header = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        // The loader makes addresses of offsets, but not in a section that is only read (`-z rodynamic`).
        let is_relocated = header.p_flags & libc::PF_W != 0;
        Some(Self {
            first: ptr::with_exposed_provenance(base + usize::try_from(header.p_vaddr).ok()?),
            base: if is_relocated { 0 } else { base },
        })
    }

    /// The values of all entries with a tag.
    pub(crate) fn values(self, tag: i64) -> impl Iterator<Item = usize> {
        // SAFETY: the section is loaded, and ends with an entry that says so, behind which nothing is read.
        let entries = (0..).map(move |number| unsafe { &*self.first.add(number) });
        entries
            .take_while(|entry| entry.tag != tag::END)
            .filter(move |entry| entry.tag == tag)
            .map(|entry| usize::try_from(entry.value).unwrap_or_default())
    }

    /// The value of the first entry with a tag.
    pub(crate) fn value(self, tag: i64) -> Option<usize> {
        self.values(tag).next()
    }

    /// The address that the first entry with a tag holds.
    pub(crate) fn address<T>(self, tag: i64) -> Option<*const T> {
        Some(ptr::with_exposed_provenance(self.base + self.value(tag)?))
    }
}
