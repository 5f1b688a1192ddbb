//! Reads OffloadBinary members without copying them, from bytes that nobody vouches for.

use std::mem::{offset_of, size_of};

use zerocopy::FromBytes;

use super::{ALIGNMENT, ARCH, Entry, Header, ImageKind, MAGIC, StringPair, TRIPLE, VERSION};
use crate::{FormatError, OffloadKind, Problem};

/// Most bytes that the strings of one member may hold altogether. Strings may overlap, so without a limit a
/// small hostile member could make a reader look at its bytes again and again.
pub const MAX_STRING_BYTES: u64 = 1 << 20;

/// One member, borrowed from the bytes it was read from. Every offset in it has been checked.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    bytes: &'a [u8],
    offset: u64,
    image_kind: ImageKind,
    offload_kind: u16,
    flags: u32,
    pairs: &'a [u8],
    image_offset: u64,
    image: &'a [u8],
}

/// The members of one section or file, in order. After an error there is nothing more.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    bytes: &'a [u8],
    offset: usize,
}

/// Reads the members that `bytes` consists of. No bytes: no members.
///
/// Each item borrows from `bytes`, which need not be aligned. Error offsets count from the start of `bytes`.
/// Bytes behind the last member, even zeros, are an error, as they are to LLVM's own readers.
pub const fn members(bytes: &[u8]) -> Members<'_> {
    Members { bytes, offset: 0 }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<Member<'a>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.offset..).filter(|rest| !rest.is_empty())?;
        let base = self.offset as u64;
        match parse(rest, base) {
            Ok(member) => {
                self.offset += member.bytes.len();
                Some(Ok(member))
            }
            Err(error) => {
                self.offset = self.bytes.len();
                Some(Err(error.at_base(base)))
            }
        }
    }
}

impl<'a> Member<'a> {
    /// The whole member, with header and padding: what another container can hold as it is.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where the member starts in the bytes given to [`members`].
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// What the image holds.
    pub const fn image_kind(&self) -> ImageKind {
        self.image_kind
    }

    /// The programming model's number as it is stored.
    pub const fn offload_kind_number(&self) -> u16 {
        self.offload_kind
    }

    /// The programming model; `None` for a number that no known release uses.
    pub const fn offload_kind(&self) -> Option<OffloadKind> {
        OffloadKind::from_number(self.offload_kind)
    }

    /// Flags; no known release sets any.
    pub const fn flags(&self) -> u32 {
        self.flags
    }

    /// The image, without padding.
    pub const fn image(&self) -> &'a [u8] {
        self.image
    }

    /// Where the image starts, in bytes from the start of the member.
    pub const fn image_offset(&self) -> u64 {
        self.image_offset
    }

    /// Every key with its value, in stored order.
    pub fn strings(&self) -> impl DoubleEndedIterator<Item = (&'a str, &'a str)> + use<'a> {
        let bytes = self.bytes;
        let pairs = <[StringPair]>::ref_from_bytes(self.pairs).unwrap_or_default();
        // `parse` has looked at every string, so the default is never taken.
        let text = move |offset: u64| string_at(bytes, offset, "", MAX_STRING_BYTES).unwrap_or_default();
        pairs
            .iter()
            .map(move |pair| (text(pair.key_offset.get()), text(pair.value_offset.get())))
    }

    /// The value of `key`; the last one if the key occurs twice, as in LLVM's readers.
    pub fn string(&self, key: &str) -> Option<&'a str> {
        self.strings()
            .rev()
            .find(|(found, _)| *found == key)
            .map(|(_, value)| value)
    }

    /// The target triple; empty if unset.
    pub fn triple(&self) -> &'a str {
        self.string(TRIPLE).unwrap_or_default()
    }

    /// The processor; empty if unset.
    pub fn arch(&self) -> &'a str {
        self.string(ARCH).unwrap_or_default()
    }
}

/// Where the fields of a member stand, for error messages.
const SIZE_FIELD: u64 = offset_of!(Header, size) as u64;
const ENTRY_OFFSET_FIELD: u64 = offset_of!(Header, entry_offset) as u64;
const ENTRY_SIZE_FIELD: u64 = offset_of!(Header, entry_size) as u64;

/// Reads the member at the start of `bytes`. Error offsets count from there.
fn parse(bytes: &[u8], offset: u64) -> Result<Member<'_>, FormatError> {
    let magic_length = bytes.len().min(MAGIC.len());
    if bytes[..magic_length] != MAGIC[..magic_length] {
        return Err(FormatError::new(0, Problem::BadMagic));
    }
    let available = bytes.len() as u64;
    let Ok((header, _)) = Header::ref_from_prefix(bytes) else {
        return Err(truncated(
            0,
            "the header of an OffloadBinary member",
            size_of::<Header>() as u64,
            available,
        ));
    };
    if header.version != VERSION {
        return Err(FormatError::new(
            offset_of!(Header, version) as u64,
            Problem::UnsupportedVersion {
                what: "OffloadBinary",
                found: header.version.get(),
                supported: VERSION,
            },
        ));
    }

    let size = header.size.get();
    let minimum = (size_of::<Header>() + size_of::<Entry>()) as u64;
    if size < minimum {
        return Err(too_small(
            SIZE_FIELD,
            "the size of an OffloadBinary member",
            size,
            minimum,
        ));
    }
    if !size.is_multiple_of(ALIGNMENT) {
        return Err(FormatError::new(
            SIZE_FIELD,
            Problem::Misaligned {
                what: "the size of an OffloadBinary member",
                found: size,
                alignment: ALIGNMENT,
            },
        ));
    }
    let Some(bytes) = part(bytes, 0, size) else {
        return Err(truncated(SIZE_FIELD, "an OffloadBinary member", size, available));
    };

    let (entry_offset, entry_size) = (header.entry_offset.get(), header.entry_size.get());
    if entry_size < size_of::<Entry>() as u64 {
        return Err(too_small(
            ENTRY_SIZE_FIELD,
            "the entry size",
            entry_size,
            size_of::<Entry>() as u64,
        ));
    }
    let entry = checked_part(bytes, ENTRY_OFFSET_FIELD, "the entry", entry_offset, entry_size)?;
    let Ok((entry, _)) = Entry::ref_from_prefix(entry) else {
        return Err(too_small(
            ENTRY_SIZE_FIELD,
            "the entry size",
            entry_size,
            size_of::<Entry>() as u64,
        ));
    };

    let image_offset = entry.image_offset.get();
    let image = checked_part(
        bytes,
        entry_offset + offset_of!(Entry, image_offset) as u64,
        "the image",
        image_offset,
        entry.image_size.get(),
    )?;
    let string_offset = entry.string_offset.get();
    let pairs = checked_part(
        bytes,
        entry_offset + offset_of!(Entry, string_offset) as u64,
        "the array of string pairs",
        string_offset,
        entry
            .number_of_strings
            .get()
            .saturating_mul(size_of::<StringPair>() as u64),
    )?;
    check_strings(bytes, string_offset, pairs)?;

    Ok(Member {
        bytes,
        offset,
        image_kind: ImageKind(entry.image_kind.get()),
        offload_kind: entry.offload_kind.get(),
        flags: entry.flags.get(),
        pairs,
        image_offset,
        image,
    })
}

/// Checks that every string lies in the member, ends there and is UTF-8.
fn check_strings(member: &[u8], string_offset: u64, pairs: &[u8]) -> Result<(), FormatError> {
    let mut budget = MAX_STRING_BYTES;
    let pairs = <[StringPair]>::ref_from_bytes(pairs).unwrap_or_default();
    for (index, pair) in pairs.iter().enumerate() {
        let pair_offset = string_offset + (index * size_of::<StringPair>()) as u64;
        let value_field = pair_offset + offset_of!(StringPair, value_offset) as u64;
        for (field, offset, what) in [
            (pair_offset, pair.key_offset.get(), "a key"),
            (value_field, pair.value_offset.get(), "a value"),
        ] {
            let text = string_at(member, offset, what, budget)
                .map_err(|problem| FormatError::new(field, problem))?;
            budget -= text.len() as u64;
        }
    }
    Ok(())
}

/// The NUL-terminated string at `offset`, if it is at most `limit` bytes long.
fn string_at<'a>(member: &'a [u8], offset: u64, what: &'static str, limit: u64) -> Result<&'a str, Problem> {
    let out_of_bounds = || Problem::OutOfBounds {
        what,
        start: offset,
        length: 1,
        limit: member.len() as u64,
    };
    let start = usize::try_from(offset).map_err(|_| out_of_bounds())?;
    let rest = member
        .get(start..)
        .filter(|rest| !rest.is_empty())
        .ok_or_else(out_of_bounds)?;
    let window = usize::try_from(limit + 1).map_or(rest, |window| &rest[..rest.len().min(window)]);
    let Some(length) = window.iter().position(|&byte| byte == 0) else {
        return Err(if window.len() < rest.len() {
            Problem::TooManyStringBytes {
                limit: MAX_STRING_BYTES,
            }
        } else {
            Problem::Unterminated { what }
        });
    };
    std::str::from_utf8(&window[..length]).map_err(|_| Problem::NotUtf8 { what })
}

/// A part of `bytes`, if it lies inside them.
fn part(bytes: &[u8], start: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    bytes.get(start..end)
}

fn checked_part<'a>(
    bytes: &'a [u8],
    field: u64,
    what: &'static str,
    start: u64,
    length: u64,
) -> Result<&'a [u8], FormatError> {
    part(bytes, start, length).ok_or_else(|| {
        FormatError::new(
            field,
            Problem::OutOfBounds {
                what,
                start,
                length,
                limit: bytes.len() as u64,
            },
        )
    })
}

const fn truncated(offset: u64, what: &'static str, needed: u64, available: u64) -> FormatError {
    FormatError::new(
        offset,
        Problem::Truncated {
            what,
            needed,
            available,
        },
    )
}

const fn too_small(offset: u64, what: &'static str, found: u64, minimum: u64) -> FormatError {
    FormatError::new(offset, Problem::TooSmall { what, found, minimum })
}
