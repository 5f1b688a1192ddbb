//! The bytes of a file: mapped if it is a regular file and not short, read otherwise. The one place in this
//! crate with unsafe code.
#![expect(
    unsafe_code,
    reason = "mapping a file is the one way not to copy images of hundreds of megabytes, and has no safe interface"
)]

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use memmap2::Mmap;
use rustix::fs::OFlags;

use crate::error::{Error, Result};

/// Regular files of at least so many bytes are mapped. To map a short one, and to unmap it, takes longer than
/// to read it.
const MAPPED_SIZE: u64 = 16 << 10;

/// The bytes of one file.
#[derive(Debug)]
pub enum FileBytes {
    /// A regular file, mapped. It is kept open if it is to be copied from.
    Mapped(Mmap, Option<File>),
    /// A short regular file, read.
    Short(Vec<u8>),
    /// Something that cannot be mapped, such as a pipe, read to its end.
    Stream(Vec<u8>),
}

impl FileBytes {
    /// Opens `path`, which another file names: anything but a regular file, which may never end, is refused.
    pub(super) fn open_regular(path: &Path) -> Result<Self> {
        let bytes = open_regular(path).and_then(|file| match file {
            Some((file, size)) => Self::of_regular(file, size, false),
            None => Err(io::Error::other("it is not a regular file")),
        });
        bytes.map_err(Error::read(path))
    }

    /// Opens `path` if there is a regular file.
    pub(super) fn open_if_regular(path: &Path) -> Result<Option<Self>> {
        let file = match open_regular(path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            file => file.map_err(Error::read(path))?,
        };
        let bytes = file.map(|(file, size)| Self::of_regular(file, size, false));
        bytes.transpose().map_err(Error::read(path))
    }

    /// Opens `path`; `-` is the standard input.
    pub(super) fn open(path: &Path) -> Result<Self> {
        Self::open_any(path, false).map_err(Error::read(path))
    }

    /// Opens `path`, and keeps a long file open, so that the system can copy from it without a look at it by
    /// this process.
    pub(super) fn open_to_copy(path: &Path) -> Result<Self> {
        Self::open_any(path, true).map_err(Error::read(path))
    }

    fn open_any(path: &Path, keep: bool) -> io::Result<Self> {
        if path == Path::new("-") {
            return Self::of_stream(io::stdin());
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        match metadata.is_file() {
            true => Self::of_regular(file, metadata.len(), keep),
            false => Self::of_stream(file),
        }
    }

    fn of_stream(mut stream: impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(Self::Stream(bytes))
    }

    fn of_regular(file: File, size: u64, keep: bool) -> io::Result<Self> {
        if size < MAPPED_SIZE {
            let mut bytes = Vec::with_capacity(size as usize);
            // Files that the system makes up, as in `/proc`, have the size 0.
            let end = if size == 0 { u64::MAX } else { size };
            file.take(end).read_to_end(&mut bytes)?;
            return Ok(Self::Short(bytes));
        }
        // SAFETY: the mapping is private and read-only. It shows changes that another process makes to the
        // file in place, as with every linker that maps its inputs: nothing here relies on bytes staying
        // equal between two looks at them for memory safety, because each access is bounds-checked against
        // the length of the mapping. A file cut short meanwhile ends this process by a signal; it cannot
        // corrupt memory.
        let map = unsafe { Mmap::map(&file) }?;
        Ok(Self::Mapped(map, keep.then_some(file)))
    }
}

/// Opens `path` and says how many bytes it holds; none if it is no regular file.
fn open_regular(path: &Path) -> io::Result<Option<(File, u64)>> {
    // Opening a pipe must not wait for somebody who writes into it.
    let without_waiting = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options()
        .read(true)
        .custom_flags(without_waiting)
        .open(path)?;
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata.len())))
}

impl FileBytes {
    /// The file, if it was kept open.
    pub(super) fn file(&self) -> Option<&File> {
        match self {
            Self::Mapped(_, file) => file.as_ref(),
            Self::Short(_) | Self::Stream(_) => None,
        }
    }

    /// Where in the file `bytes` lie, which may be borrowed from it; none if it is no regular file or they
    /// are not.
    pub(super) fn offset_of(&self, bytes: &[u8]) -> Option<u64> {
        if matches!(self, Self::Stream(_)) {
            return None;
        }
        let offset = bytes.as_ptr().addr().checked_sub(self.as_ptr().addr())?;
        let end = offset.checked_add(bytes.len())?;
        (end <= self.len()).then_some(offset as u64)
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map, _) => map,
            Self::Short(bytes) | Self::Stream(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn bytes_of_regular_files_have_a_place_in_them() {
        let folder = tempfile::tempdir().unwrap();
        for size in [3, MAPPED_SIZE as usize - 1, MAPPED_SIZE as usize, 100_000] {
            let path = folder.path().join(size.to_string());
            let contents: Vec<u8> = (0..size).map(|number| number as u8).collect();
            std::fs::write(&path, &contents).unwrap();
            let file = FileBytes::open(&path).unwrap();
            assert_eq!(*file, contents);
            assert_eq!(file.offset_of(&file[2..]), Some(2));
            assert_eq!(file.offset_of(&contents), None);
        }
        let stream = FileBytes::Stream(vec![1, 2]);
        assert_eq!(stream.offset_of(&stream), None);
    }

    #[test]
    fn what_is_no_regular_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        for path in [
            &pipe,
            folder.path(),
            &folder.path().join("missing"),
            &pipe.join("x"),
        ] {
            assert!(FileBytes::open_if_regular(path).unwrap().is_none(), "{path:?}");
            assert!(FileBytes::open_regular(path).is_err(), "{path:?}");
        }
    }
}
