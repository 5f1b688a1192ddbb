//! Writes the bytes of an OffloadBinary that stand before and behind its images.
//!
//! The images themselves never pass through here: the caller writes [`ContainerHeader::bytes`], then each
//! image, and behind the last as many zeros as [`ContainerHeader::padding`] says. For strings in the same
//! order the bytes equal those that LLVM's tools write: same layout, same string table with shared tails.

use std::collections::BTreeMap;
use std::mem::size_of;

use zerocopy::IntoBytes;

use super::{ALIGNMENT, Entry, Header, ImageKind, MAGIC, StringPair, pair_size, version_number};
use crate::ContainerFormat;

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

/// The bytes around the images of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerHeader {
    bytes: Vec<u8>,
    padding: usize,
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

impl ContainerHeader {
    /// Lays out a container for members whose images have these sizes, in bytes.
    ///
    /// # Errors
    /// A string holds a NUL, or the size would not fit 64 bits.
    ///
    /// # Panics
    /// The format holds one member, and there is another number of them.
    pub fn of(
        format: ContainerFormat,
        members: &[(&MemberDescription<'_>, u64)],
    ) -> Result<Self, DescriptionError> {
        assert!(
            format >= ContainerFormat::Version2 || members.len() == 1,
            "a container of version 1 holds one member"
        );
        let all_pairs: Vec<_> = members.iter().map(|(member, _)| member.pairs()).collect();
        let texts = || all_pairs.iter().flatten().flat_map(|&(key, value)| [key, value]);
        for text in texts() {
            if text.contains('\0') {
                return Err(DescriptionError::Nul {
                    text: text.to_owned(),
                });
            }
        }

        let first_entry = size_of::<Header>();
        let pairs_offset = first_entry + members.len() * size_of::<Entry>();
        let count: usize = all_pairs.iter().map(Vec::len).sum();
        let table_offset = (pairs_offset + count * pair_size(format)) as u64;
        let table = StringTable::new(texts());
        let images_offset = (table_offset + table.bytes.len() as u64).next_multiple_of(ALIGNMENT);

        let (mut entries, mut pairs) = (Vec::new(), Vec::new());
        let too_large = |image_size| DescriptionError::TooLarge { image_size };
        let mut end = images_offset;
        for ((member, image_size), own_pairs) in members.iter().zip(&all_pairs) {
            let entry = Entry {
                image_kind: member.image_kind.0.into(),
                offload_kind: member.offload_kind.into(),
                flags: member.flags.into(),
                string_offset: ((pairs_offset + pairs.len()) as u64).into(),
                number_of_strings: (own_pairs.len() as u64).into(),
                image_offset: end.into(),
                image_size: (*image_size).into(),
            };
            entries.extend_from_slice(entry.as_bytes());
            for (key, value) in own_pairs {
                let pair = StringPair {
                    key_offset: (table_offset + table.offset(key)).into(),
                    value_offset: (table_offset + table.offset(value)).into(),
                };
                pairs.extend_from_slice(pair.as_bytes());
                if format >= ContainerFormat::Version2 {
                    pairs.extend_from_slice(&(value.len() as u64).to_le_bytes());
                }
            }
            end = end
                .checked_add(*image_size)
                .ok_or_else(|| too_large(*image_size))?;
        }
        // As LLVM does it: the whole is aligned, and no image in it but the first.
        let size = end
            .checked_next_multiple_of(ALIGNMENT)
            .ok_or_else(|| too_large(members.last().map_or(0, |(_, image_size)| *image_size)))?;

        let header = Header {
            magic: MAGIC,
            version: version_number(format).into(),
            size: size.into(),
            entry_offset: (first_entry as u64).into(),
            entry_size: match format {
                ContainerFormat::Version1 => size_of::<Entry>() as u64,
                ContainerFormat::Version2 => members.len() as u64,
            }
            .into(),
        };
        let mut bytes = [header.as_bytes(), &entries, &pairs, &table.bytes].concat();
        bytes.resize(images_offset as usize, 0);
        Ok(Self {
            bytes,
            padding: (size - end) as usize,
            size,
        })
    }

    /// What stands before the first image; a multiple of 8 bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many zeros stand behind the last image: at most 7.
    pub fn padding(&self) -> usize {
        self.padding
    }

    /// Bytes of the whole container.
    pub const fn size(&self) -> u64 {
        self.size
    }
}

impl MemberDescription<'_> {
    /// Lays out a container that holds this member alone, for an image of `image_size` bytes.
    ///
    /// # Errors
    /// A string holds a NUL, or the size would not fit 64 bits.
    pub fn header(
        &self,
        format: ContainerFormat,
        image_size: u64,
    ) -> Result<ContainerHeader, DescriptionError> {
        ContainerHeader::of(format, &[(self, image_size)])
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
