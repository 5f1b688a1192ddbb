//! Writes the bytes of an OffloadBinary member that stand before and behind its image.
//!
//! The image itself never passes through here: the caller writes [`MemberHeader::bytes`], then the image,
//! then [`MemberHeader::padding`] zeros. For strings in the same order the bytes equal those that LLVM's
//! tools write: same layout, same string table with shared tails.

use std::collections::BTreeMap;
use std::mem::size_of;

use zerocopy::IntoBytes;

use super::{ALIGNMENT, Entry, Header, ImageKind, MAGIC, StringPair, VERSION};

/// What a member says about its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberDescription<'a> {
    /// What the image holds.
    pub image_kind: ImageKind,
    /// The programming model's number: [`OffloadKind::number`](crate::OffloadKind::number) of the release
    /// that is to read it.
    pub offload_kind: u16,
    /// Flags; 0.
    pub flags: u32,
    /// Keys and values, stored in this order; of a key given twice the last value counts, in the place of the
    /// first.
    pub strings: Vec<(&'a str, &'a str)>,
}

/// The bytes around a member's image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberHeader {
    bytes: Vec<u8>,
    image_size: u64,
    size: u64,
}

/// A description that the format cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// A key or value would end at its first NUL.
    #[error("`{}` holds a NUL byte", text.escape_debug())]
    Nul {
        /// The key or value.
        text: String,
    },
    /// Header and image together do not fit 64 bits.
    #[error("an image of {image_size} bytes is too large")]
    TooLarge {
        /// The image's size in bytes.
        image_size: u64,
    },
}

impl MemberHeader {
    /// What stands before the image; a multiple of 8 bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many zeros stand behind the image; at most 7.
    pub const fn padding(&self) -> usize {
        (self.size - self.image_size - self.bytes.len() as u64) as usize
    }

    /// Bytes of the whole member.
    pub const fn size(&self) -> u64 {
        self.size
    }
}

impl MemberDescription<'_> {
    /// Lays out a member for an image of `image_size` bytes.
    ///
    /// # Errors
    /// A string holds a NUL, or the member's size would not fit 64 bits.
    pub fn header(&self, image_size: u64) -> Result<MemberHeader, DescriptionError> {
        let pairs = self.pairs();
        for text in pairs.iter().flat_map(|&(key, value)| [key, value]) {
            if text.contains('\0') {
                return Err(DescriptionError::Nul {
                    text: text.to_owned(),
                });
            }
        }

        let string_offset = (size_of::<Header>() + size_of::<Entry>()) as u64;
        let table_offset = string_offset + (pairs.len() * size_of::<StringPair>()) as u64;
        let table = StringTable::new(pairs.iter().flat_map(|&(key, value)| [key, value]));
        let image_offset = (table_offset + table.bytes.len() as u64).next_multiple_of(ALIGNMENT);
        let size = image_offset
            .checked_add(image_size)
            .and_then(|end| end.checked_next_multiple_of(ALIGNMENT))
            .ok_or(DescriptionError::TooLarge { image_size })?;

        let header = Header {
            magic: MAGIC,
            version: VERSION.into(),
            size: size.into(),
            entry_offset: (size_of::<Header>() as u64).into(),
            entry_size: (size_of::<Entry>() as u64).into(),
        };
        let entry = Entry {
            image_kind: self.image_kind.0.into(),
            offload_kind: self.offload_kind.into(),
            flags: self.flags.into(),
            string_offset: string_offset.into(),
            number_of_strings: (pairs.len() as u64).into(),
            image_offset: image_offset.into(),
            image_size: image_size.into(),
        };
        let mut bytes = Vec::with_capacity(image_offset as usize);
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(entry.as_bytes());
        for (key, value) in pairs {
            let pair = StringPair {
                key_offset: (table_offset + table.offset(key)).into(),
                value_offset: (table_offset + table.offset(value)).into(),
            };
            bytes.extend_from_slice(pair.as_bytes());
        }
        bytes.extend_from_slice(&table.bytes);
        bytes.resize(image_offset as usize, 0);
        Ok(MemberHeader {
            bytes,
            image_size,
            size,
        })
    }

    /// Each key once, in the order given.
    fn pairs(&self) -> Vec<(&str, &str)> {
        let mut pairs: Vec<(&str, &str)> = Vec::with_capacity(self.strings.len());
        for &(key, value) in &self.strings {
            match pairs.iter_mut().find(|(found, _)| *found == key) {
                Some(pair) => pair.1 = value,
                None => pairs.push((key, value)),
            }
        }
        pairs
    }
}

/// NUL-terminated strings, those that end alike sharing their tails, laid out as LLVM's `StringTableBuilder`
/// does.
struct StringTable<'a> {
    bytes: Vec<u8>,
    offsets: BTreeMap<&'a str, u64>,
}

impl<'a> StringTable<'a> {
    fn new(strings: impl Iterator<Item = &'a str>) -> Self {
        let mut strings: Vec<&str> = strings.collect();
        // Seen from their ends, in falling order: a string comes right after one that it is the tail of.
        strings.sort_by(|left, right| right.bytes().rev().cmp(left.bytes().rev()));
        let mut bytes = vec![0];
        let mut offsets = BTreeMap::new();
        let mut previous = "";
        for string in strings {
            if string.is_empty() {
                offsets.insert(string, 0);
                continue;
            }
            let shared = previous.ends_with(string);
            if !shared {
                bytes.extend_from_slice(string.as_bytes());
                bytes.push(0);
                previous = string;
            }
            offsets.insert(string, (bytes.len() - string.len() - 1) as u64);
        }
        Self { bytes, offsets }
    }

    fn offset(&self, string: &str) -> u64 {
        self.offsets.get(string).copied().unwrap_or_default()
    }
}
