//! The bytes of a file: mapped if it is a regular file, read otherwise. The one place in this crate with unsafe code.
#![expect(
    unsafe_code,
    reason = "mapping a file is the one way not to copy images of hundreds of megabytes, and has no safe interface"
)]

use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::error::{Error, Result};

/// The bytes of one file.
#[derive(Debug)]
pub enum FileBytes {
    /// A regular file, mapped.
    Mapped(Mmap),
    /// Something that cannot be mapped, such as a pipe, read to its end.
    Read(Vec<u8>),
}

impl FileBytes {
    /// Maps `path`, which another file names: anything but a regular file, which may never end, is refused.
    pub(super) fn open_regular(path: &Path) -> Result<Self> {
        let metadata = std::fs::metadata(path).map_err(Error::read(path))?;
        if !metadata.is_file() {
            return Err(Error::read(path)(std::io::Error::other(
                "it is not a regular file",
            )));
        }
        Self::open(path)
    }

    /// Maps or reads `path`; `-` is the standard input.
    pub(super) fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            std::io::stdin()
                .read_to_end(&mut bytes)
                .map_err(Error::read(path))?;
            return Ok(Self::Read(bytes));
        }
        let mut file = File::open(path).map_err(Error::read(path))?;
        let metadata = file.metadata().map_err(Error::read(path))?;
        // An empty file cannot be mapped.
        if !metadata.is_file() || metadata.len() == 0 {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(Error::read(path))?;
            return Ok(Self::Read(bytes));
        }
        // SAFETY: the mapping is private and read-only. It shows changes that another process makes to the file in
        // place, as with every linker that maps its inputs: nothing here relies on bytes staying equal between two
        // looks at them for memory safety, because each access is bounds-checked against the length of the mapping.
        // A file cut short meanwhile ends this process by a signal; it cannot corrupt memory.
        let map = unsafe { Mmap::map(&file) }.map_err(Error::read(path))?;
        Ok(Self::Mapped(map))
    }
}

impl FileBytes {
    /// Where in the file `bytes` lie, which may be borrowed from it; none if the file is not mapped or they are not.
    pub(super) fn offset_of(&self, bytes: &[u8]) -> Option<u64> {
        let Self::Mapped(map) = self else { return None };
        let offset = bytes.as_ptr().addr().checked_sub(map.as_ptr().addr())?;
        let end = offset.checked_add(bytes.len())?;
        (end <= map.len()).then_some(offset as u64)
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}
