//! What can be wrong with bytes that should hold one of this crate's formats, and where.

/// A malformed record: where in the given bytes, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (at offset {offset:#x})")]
pub struct FormatError {
    /// Byte offset, from the start of the bytes handed to the parser, of the field that is wrong.
    pub offset: u64,
    /// What is wrong with that field.
    pub problem: Problem,
}

impl FormatError {
    pub(crate) const fn new(offset: u64, problem: Problem) -> Self {
        Self { offset, problem }
    }

    /// The same error seen from bytes that start `base` bytes earlier.
    #[must_use]
    pub const fn at_base(self, base: u64) -> Self {
        Self {
            offset: self.offset.saturating_add(base),
            problem: self.problem,
        }
    }
}

/// The ways in which a record can be malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes end before the record does.
    #[error("truncated: {what} needs {needed} bytes, {available} are left")]
    Truncated {
        /// The record or field.
        what: &'static str,
        /// Bytes it needs.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// The magic number of an OffloadBinary member is missing.
    #[error("not an OffloadBinary member: its magic bytes 10 ff 10 ad are missing")]
    BadMagic,
    /// The images of a container are more bytes than it has.
    #[error("its images overlap")]
    OverlappingImages,
    /// The magic number of a fat binary is missing.
    #[error("not a fat binary: it starts like none of CUDA's or HIP's")]
    NoFatBinary,
    /// A version number other than the one known.
    #[error("{what} version {found} is not supported, the latest known is {supported}")]
    UnsupportedVersion {
        /// The record.
        what: &'static str,
        /// The number found.
        found: u32,
        /// The latest number that this crate reads.
        supported: u32,
    },
    /// A size field smaller than the record it describes.
    #[error("{what} is {found}, but must be at least {minimum}")]
    TooSmall {
        /// The size field.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The least value that makes sense.
        minimum: u64,
    },
    /// A size or offset that must be a multiple of the alignment but is not.
    #[error("{what} is {found}, which is not a multiple of {alignment}")]
    Misaligned {
        /// The field.
        what: &'static str,
        /// Its value.
        found: u64,
        /// What it must be a multiple of.
        alignment: u64,
    },
    /// A range that leaves the record it must lie in.
    #[error("{what} ({start:#x}, {length:#x} bytes) lies outside its {limit:#x}-byte container")]
    OutOfBounds {
        /// What the range holds.
        what: &'static str,
        /// First byte, from the start of the container.
        start: u64,
        /// Bytes in the range.
        length: u64,
        /// Bytes in the container.
        limit: u64,
    },
    /// A string whose terminating NUL is not inside the record.
    #[error("{what} has no terminating NUL inside its container")]
    Unterminated {
        /// The string.
        what: &'static str,
    },
    /// A string that is not UTF-8.
    #[error("{what} is not UTF-8")]
    NotUtf8 {
        /// The string.
        what: &'static str,
    },
    /// More string bytes than any producer writes; only overlapping strings reach this.
    #[error("the strings of one member hold more than {limit} bytes altogether")]
    TooManyStringBytes {
        /// The limit.
        limit: u64,
    },
    /// An offload kind that no known release uses.
    #[error("offload kind {found} is unknown")]
    UnknownOffloadKind {
        /// The number found.
        found: u16,
    },
    /// A reserved field that is not zero.
    #[error("reserved field of {what} is {found:#x}, not zero")]
    ReservedNotZero {
        /// The record.
        what: &'static str,
        /// The value found.
        found: u64,
    },
    /// A table whose size is not a multiple of its records' size.
    #[error("{what} is {size} bytes long, which is not a multiple of {record_size}")]
    PartialRecord {
        /// The table.
        what: &'static str,
        /// Its size in bytes.
        size: u64,
        /// The size of one record in bytes.
        record_size: u64,
    },
}
