//! A part of an output: bytes, and the open file that they lie in, if the system can copy them from there.

use std::fs::File;
use std::path::Path;

/// Bytes on their way into an output.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    bytes: &'a [u8],
    source: Option<Source<'a>>,
}

/// Where bytes lie on disk.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The file.
    pub file: &'a File,
    /// Its name.
    pub path: &'a Path,
    /// Where in it they start.
    pub offset: u64,
}

impl<'a> Piece<'a> {
    pub(super) const fn new(bytes: &'a [u8], source: Option<Source<'a>>) -> Self {
        Self { bytes, source }
    }

    /// The bytes. To look at those of a mapped file costs the time of reading them.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many bytes.
    pub const fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Where they lie on disk, if the system can copy them from there.
    pub const fn source(&self) -> Option<Source<'a>> {
        self.source
    }
}

impl<'a> From<&'a [u8]> for Piece<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::new(bytes, None)
    }
}
