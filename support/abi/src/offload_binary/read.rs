//! Reads OffloadBinary members without copying them, from bytes that nobody vouches for.

use std::mem::{offset_of, size_of};

use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

use super::{
    ALIGNMENT, ARCH, Entry, Header, ImageKind, MAGIC, StringPair, TRIPLE, pair_size, version_number,
};
use crate::{ContainerFormat, FormatError, OffloadKind, Problem};

/// Most bytes that the strings of one container may hold altogether, with a NUL behind each. Strings may
/// overlap, so without a limit a small hostile container could make a reader look at its bytes again and
/// again.
pub const MAX_STRING_BYTES: u64 = 1 << 20;

/// One member, borrowed from the bytes it was read from. Every offset in it has been checked.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    container: &'a [u8],
    format: ContainerFormat,
    /// How many members the container holds.
    siblings: u64,
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
    /// Where the next container starts.
    offset: usize,
    /// What is left of the one before.
    open: Option<Open<'a>>,
}

/// A container of which some members have been read.
#[derive(Debug, Clone)]
struct Open<'a> {
    container: &'a [u8],
    format: ContainerFormat,
    offset: u64,
    /// Of the next entry, in the container.
    entry_offset: u64,
    left: u64,
    count: u64,
    /// What is left of [`MAX_STRING_BYTES`].
    budget: u64,
    /// How many bytes of images there may still be.
    image_budget: u64,
}

/// Reads the members of the containers that `bytes` consists of. No bytes: no members.
///
/// Each item borrows from `bytes`, which need not be aligned. Error offsets count from the start of `bytes`.
/// Bytes behind the last member, even zeros, are an error, as they are to LLVM's own readers.
pub const fn members(bytes: &[u8]) -> Members<'_> {
    Members {
        bytes,
        offset: 0,
        open: None,
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<Member<'a>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let open = match self.open.take() {
                Some(open) => open,
                None => {
                    let rest = self.bytes.get(self.offset..).filter(|rest| !rest.is_empty())?;
                    match parse_header(rest, self.offset as u64) {
                        Ok(open) => {
                            self.offset += open.container.len();
                            open
                        }
                        Err(error) => return Some(self.end(error, self.offset as u64)),
                    }
                }
            };
            if open.left == 0 {
                continue;
            }
            let base = open.offset;
            return Some(match parse_member(open) {
                Ok((member, rest)) => {
                    self.open = Some(rest);
                    Ok(member)
                }
                Err(error) => self.end(error, base),
            });
        }
    }
}

impl<'a> Members<'a> {
    /// Nothing comes behind an error.
    fn end(&mut self, error: FormatError, base: u64) -> Result<Member<'a>, FormatError> {
        self.offset = self.bytes.len();
        Err(error.at_base(base))
    }
}

impl<'a> Member<'a> {
    /// The member's container, with header and padding: what another container can hold as it is.
    pub const fn container(&self) -> &'a [u8] {
        self.container
    }

    /// The container's format, which tells how old the tool that wrote it is at most.
    pub const fn format(&self) -> ContainerFormat {
        self.format
    }

    /// Whether the container holds no other member.
    pub const fn is_alone(&self) -> bool {
        self.siblings == 1
    }

    /// Where the container starts in the bytes given to [`members`].
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

    /// Flags; no release before LLVM 23 sets any.
    pub const fn flags(&self) -> u32 {
        self.flags
    }

    /// The image, without padding.
    pub const fn image(&self) -> &'a [u8] {
        self.image
    }

    /// Where the image starts, in bytes from the start of the container.
    pub const fn image_offset(&self) -> u64 {
        self.image_offset
    }

    /// Every key with its value, in stored order.
    pub fn strings(&self) -> impl DoubleEndedIterator<Item = (&'a str, &'a str)> + use<'a> {
        let (container, format) = (self.container, self.format);
        // `parse_member` has looked at every string, so the defaults are never taken.
        pairs(self.pairs, format).map(move |pair| {
            let mut budget = MAX_STRING_BYTES;
            let key = pair.key(container, &mut budget).unwrap_or_default();
            (key, pair.value(container, &mut budget).unwrap_or_default())
        })
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

/// Reads the header of the container at the start of `bytes`. Error offsets count from there.
fn parse_header(bytes: &[u8], offset: u64) -> Result<Open<'_>, FormatError> {
    let magic_length = bytes.len().min(MAGIC.len());
    if bytes[..magic_length] != MAGIC[..magic_length] {
        return Err(FormatError::new(0, Problem::BadMagic));
    }
    let available = bytes.len() as u64;
    let Ok((header, _)) = Header::ref_from_prefix(bytes) else {
        return Err(truncated(
            0,
            "the header of an OffloadBinary",
            size_of::<Header>() as u64,
            available,
        ));
    };
    let formats = [ContainerFormat::Version1, ContainerFormat::Version2];
    let Some(format) = formats
        .into_iter()
        .find(|format| header.version == version_number(*format))
    else {
        return Err(FormatError::new(
            offset_of!(Header, version) as u64,
            Problem::UnsupportedVersion {
                what: "OffloadBinary",
                found: header.version.get(),
                supported: version_number(ContainerFormat::Version2),
            },
        ));
    };

    let size = header.size.get();
    let minimum = match format {
        ContainerFormat::Version1 => size_of::<Header>() + size_of::<Entry>(),
        ContainerFormat::Version2 => size_of::<Header>(),
    };
    if size < minimum as u64 {
        return Err(too_small(
            SIZE_FIELD,
            "the size of an OffloadBinary",
            size,
            minimum as u64,
        ));
    }
    if !size.is_multiple_of(ALIGNMENT) {
        return Err(FormatError::new(
            SIZE_FIELD,
            Problem::Misaligned {
                what: "the size of an OffloadBinary",
                found: size,
                alignment: ALIGNMENT,
            },
        ));
    }
    let Some(container) = part(bytes, 0, size) else {
        return Err(truncated(SIZE_FIELD, "an OffloadBinary", size, available));
    };

    let entry_offset = header.entry_offset.get();
    let count = match format {
        ContainerFormat::Version1 => {
            let entry_size = header.entry_size.get();
            if entry_size < size_of::<Entry>() as u64 {
                return Err(too_small(
                    ENTRY_SIZE_FIELD,
                    "the entry size",
                    entry_size,
                    size_of::<Entry>() as u64,
                ));
            }
            checked_part(
                container,
                ENTRY_OFFSET_FIELD,
                "the entry",
                entry_offset,
                entry_size,
            )?;
            1
        }
        ContainerFormat::Version2 => {
            let count = header.entry_size.get();
            let length = count.saturating_mul(size_of::<Entry>() as u64);
            checked_part(
                container,
                ENTRY_OFFSET_FIELD,
                "the array of entries",
                entry_offset,
                length,
            )?;
            count
        }
    };
    Ok(Open {
        container,
        format,
        offset,
        entry_offset,
        left: count,
        count,
        budget: MAX_STRING_BYTES,
        image_budget: size,
    })
}

/// Reads the next member of a container, of which one is left. Error offsets count from the container's
/// start.
fn parse_member(mut open: Open<'_>) -> Result<(Member<'_>, Open<'_>), FormatError> {
    let (container, entry_offset) = (open.container, open.entry_offset);
    let entry_size = size_of::<Entry>() as u64;
    // Never missing: `parse_header` has looked for all entries.
    let entry = part(container, entry_offset, entry_size).and_then(|entry| Entry::ref_from_bytes(entry).ok());
    let Some(entry) = entry else {
        return Err(too_small(ENTRY_SIZE_FIELD, "the entry size", 0, entry_size));
    };
    let image_offset = entry.image_offset.get();
    let image = checked_part(
        container,
        entry_offset + offset_of!(Entry, image_offset) as u64,
        "the image",
        image_offset,
        entry.image_size.get(),
    )?;
    // Images don't overlap; if they did, a small container could hold any number of bytes to look at.
    let Some(image_budget) = open.image_budget.checked_sub(image.len() as u64) else {
        return Err(FormatError::new(
            entry_offset + offset_of!(Entry, image_size) as u64,
            Problem::OverlappingImages,
        ));
    };
    open.image_budget = image_budget;
    let string_offset = entry.string_offset.get();
    let pairs = checked_part(
        container,
        entry_offset + offset_of!(Entry, string_offset) as u64,
        "the array of string pairs",
        string_offset,
        entry
            .number_of_strings
            .get()
            .saturating_mul(pair_size(open.format) as u64),
    )?;
    check_strings(&mut open, string_offset, pairs)?;
    open.left -= 1;
    open.entry_offset += entry_size;
    let member = Member {
        container,
        format: open.format,
        siblings: open.count,
        offset: open.offset,
        image_kind: ImageKind(entry.image_kind.get()),
        offload_kind: entry.offload_kind.get(),
        flags: entry.flags.get(),
        pairs,
        image_offset,
        image,
    };
    Ok((member, open))
}

/// A key and a value as they are stored.
#[derive(Clone, Copy)]
struct Pair {
    key_offset: u64,
    value_offset: u64,
    /// Bytes of the value, where that is stored.
    value_size: Option<u64>,
}

/// The pairs of an entry.
fn pairs(bytes: &[u8], format: ContainerFormat) -> impl DoubleEndedIterator<Item = Pair> + use<'_> {
    bytes.chunks_exact(pair_size(format)).filter_map(move |bytes| {
        let (pair, behind) = StringPair::ref_from_prefix(bytes).ok()?;
        let value_size = U64::ref_from_bytes(behind).ok().map(|size| size.get());
        Some(Pair {
            key_offset: pair.key_offset.get(),
            value_offset: pair.value_offset.get(),
            value_size,
        })
    })
}

impl Pair {
    fn key<'a>(&self, container: &'a [u8], budget: &mut u64) -> Result<&'a str, Problem> {
        string_at(container, self.key_offset, "a key", budget)
    }

    fn value<'a>(&self, container: &'a [u8], budget: &mut u64) -> Result<&'a str, Problem> {
        let what = "a value";
        let Some(length) = self.value_size else {
            return string_at(container, self.value_offset, what, budget);
        };
        let Some(text) = part(container, self.value_offset, length) else {
            return Err(Problem::OutOfBounds {
                what,
                start: self.value_offset,
                length,
                limit: container.len() as u64,
            });
        };
        pay(budget, length)?;
        std::str::from_utf8(text).map_err(|_| Problem::NotUtf8 { what })
    }
}

/// Takes a string of `length` bytes, with a NUL, from what may be looked at.
fn pay(budget: &mut u64, length: u64) -> Result<(), Problem> {
    *budget = budget
        .checked_sub(length.saturating_add(1))
        .ok_or(Problem::TooManyStringBytes {
            limit: MAX_STRING_BYTES,
        })?;
    Ok(())
}

/// Checks that every string lies in the container, ends there and is UTF-8.
fn check_strings(open: &mut Open<'_>, string_offset: u64, bytes: &[u8]) -> Result<(), FormatError> {
    let (container, budget) = (open.container, &mut open.budget);
    for (index, pair) in pairs(bytes, open.format).enumerate() {
        let key_field = string_offset + (index * pair_size(open.format)) as u64;
        let value_field = key_field + offset_of!(StringPair, value_offset) as u64;
        pair.key(container, budget)
            .map_err(|problem| FormatError::new(key_field, problem))?;
        pair.value(container, budget)
            .map_err(|problem| FormatError::new(value_field, problem))?;
    }
    Ok(())
}

/// The NUL-terminated string at `offset`, if `budget` reaches for it.
fn string_at<'a>(
    container: &'a [u8],
    offset: u64,
    what: &'static str,
    budget: &mut u64,
) -> Result<&'a str, Problem> {
    let out_of_bounds = || Problem::OutOfBounds {
        what,
        start: offset,
        length: 1,
        limit: container.len() as u64,
    };
    let start = usize::try_from(offset).map_err(|_| out_of_bounds())?;
    let rest = container
        .get(start..)
        .filter(|rest| !rest.is_empty())
        .ok_or_else(out_of_bounds)?;
    let window = usize::try_from(*budget).map_or(rest, |window| &rest[..rest.len().min(window)]);
    let Some(length) = window.iter().position(|&byte| byte == 0) else {
        return Err(if window.len() < rest.len() {
            Problem::TooManyStringBytes {
                limit: MAX_STRING_BYTES,
            }
        } else {
            Problem::Unterminated { what }
        });
    };
    pay(budget, length as u64)?;
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
