//! Cubins that carry the PTX they were assembled from, in a section at the file's end.
//!
//! | part of the section [`SECTION`] | what |
//! | --- | --- |
//! | 8 bytes | [`MAGIC`] |
//! | 8 bytes, little endian | how many bytes of text follow |
//! | the text | PTX, as it was given to the assembler |
//! | zero bytes | to a multiple of 8 |
//!
//! A device link concatenates the sections of its inputs, so a linked image has one part for each PTX file.
//! The driver and NVIDIA's tools ignore the section.

use thiserror::Error;

/// The section's name.
pub const SECTION: &str = ".offloom.ptx";

/// The first bytes of each part.
pub const MAGIC: [u8; 8] = *b"PTXPART\x01";

/// Sizes of an ELF64 header and of a section header.
const HEADER: usize = 64;
const SECTION_HEADER: usize = 64;

/// Where fields lie in an ELF64 header.
const SECTIONS_AT: usize = 0x28;
const SECTION_HEADER_SIZE_AT: usize = 0x3a;
const SECTION_COUNT_AT: usize = 0x3c;
const NAMES_INDEX_AT: usize = 0x3e;

/// Where fields lie in a section header.
const NAME_AT: usize = 0;
const TYPE_AT: usize = 4;
const OFFSET_AT: usize = 0x18;
const SIZE_AT: usize = 0x20;
const ALIGNMENT_AT: usize = 0x30;

/// The type of a section whose bytes mean something to programs alone.
const PROGBITS: u32 = 1;

/// The type of a section without bytes in the file.
const NOBITS: u32 = 8;

/// Why a file is not an image that carries PTX.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum ImageError {
    /// Not ELF for 64 bits, little endian.
    #[error("it is no 64-bit little-endian ELF file")]
    NotElf,
    /// A header, a section or a name lies outside the file.
    #[error("its ELF headers name bytes beyond its end")]
    Truncated,
    /// The section holds something else than parts.
    #[error("its section `{SECTION}` is damaged")]
    Damaged,
    /// More sections than the header can count.
    #[error("it has too many sections for one more")]
    TooManySections,
}

/// The PTX files that an image was assembled from, in the order of the link. None when the image carries
/// none.
///
/// # Errors
///
/// When `image` is no ELF file, or its headers or the section are damaged.
pub fn parts(image: &[u8]) -> Result<Vec<&[u8]>, ImageError> {
    let mut found = Vec::new();
    for section in Sections::read(image)?.iter() {
        let (name, bytes) = section?;
        if name == SECTION.as_bytes() {
            split(bytes, &mut found)?;
        }
    }
    Ok(found)
}

/// The image with a section that holds these PTX files. An image that carries PTX already keeps that too.
///
/// The bytes of all other sections stay where they are.
///
/// # Errors
///
/// When `image` is no ELF file, its headers are damaged, or it has no room for one more section.
pub fn append(image: &[u8], ptx: &[&[u8]]) -> Result<Vec<u8>, ImageError> {
    let sections = Sections::read(image)?;
    let names = sections.bytes_of(sections.names)?;
    let count = u16::try_from(sections.count + 1).map_err(|_| ImageError::TooManySections)?;

    let mut output = image.to_vec();
    align(&mut output);
    let data_at = output.len();
    for text in ptx {
        output.extend(MAGIC);
        output.extend((text.len() as u64).to_le_bytes());
        output.extend(*text);
        align(&mut output);
    }
    let data_size = output.len() - data_at;

    let names_at = output.len();
    let name = u32::try_from(names.len()).map_err(|_| ImageError::Truncated)?;
    output.extend(names);
    output.extend(SECTION.as_bytes());
    output.push(0);
    let names_size = output.len() - names_at;
    align(&mut output);

    let headers_at = output.len();
    output.extend(&image[sections.at..sections.at + sections.count * SECTION_HEADER]);
    let moved = headers_at + sections.names * SECTION_HEADER;
    put(&mut output, moved + OFFSET_AT, &(names_at as u64).to_le_bytes());
    put(&mut output, moved + SIZE_AT, &(names_size as u64).to_le_bytes());
    let added = output.len();
    output.resize(added + SECTION_HEADER, 0);
    put(&mut output, added + NAME_AT, &name.to_le_bytes());
    put(&mut output, added + TYPE_AT, &PROGBITS.to_le_bytes());
    put(&mut output, added + OFFSET_AT, &(data_at as u64).to_le_bytes());
    put(&mut output, added + SIZE_AT, &(data_size as u64).to_le_bytes());
    put(&mut output, added + ALIGNMENT_AT, &8_u64.to_le_bytes());

    put(&mut output, SECTIONS_AT, &(headers_at as u64).to_le_bytes());
    put(&mut output, SECTION_COUNT_AT, &count.to_le_bytes());
    Ok(output)
}

/// The parts in a section's bytes.
fn split<'a>(mut bytes: &'a [u8], found: &mut Vec<&'a [u8]>) -> Result<(), ImageError> {
    loop {
        // A linker may have aligned the next part further.
        while let Some(rest) = bytes.strip_prefix(&[0]) {
            bytes = rest;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let rest = bytes.strip_prefix(&MAGIC).ok_or(ImageError::Damaged)?;
        let (size, rest) = rest.split_first_chunk::<8>().ok_or(ImageError::Damaged)?;
        let size = usize::try_from(u64::from_le_bytes(*size)).map_err(|_| ImageError::Damaged)?;
        let (text, rest) = rest.split_at_checked(size).ok_or(ImageError::Damaged)?;
        found.push(text);
        bytes = rest;
    }
}

/// The table of sections of an ELF file.
struct Sections<'a> {
    image: &'a [u8],
    /// Where the table begins.
    at: usize,
    count: usize,
    /// The index of the section with the names.
    names: usize,
}

impl<'a> Sections<'a> {
    fn read(image: &'a [u8]) -> Result<Self, ImageError> {
        // Magic, 64 bits, little endian.
        if !image.starts_with(b"\x7fELF\x02\x01") || image.len() < HEADER {
            return Err(ImageError::NotElf);
        }
        let at = size_at(image, SECTIONS_AT)?;
        let count = usize::from(u16_at(image, SECTION_COUNT_AT)?);
        let names = usize::from(u16_at(image, NAMES_INDEX_AT)?);
        let end = count
            .checked_mul(SECTION_HEADER)
            .and_then(|size| at.checked_add(size));
        let header_size = usize::from(u16_at(image, SECTION_HEADER_SIZE_AT)?);
        if end.is_none_or(|end| end > image.len()) || names >= count || header_size != SECTION_HEADER {
            return Err(ImageError::Truncated);
        }
        Ok(Self {
            image,
            at,
            count,
            names,
        })
    }

    /// Names and bytes of all sections.
    fn iter(&self) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8]), ImageError>> {
        (0..self.count).map(|index| {
            let names = self.bytes_of(self.names)?;
            let header = self.at + index * SECTION_HEADER;
            let name = usize::try_from(u32_at(self.image, header + NAME_AT)?);
            let name = name.ok().and_then(|name| names.get(name..));
            let name = name.and_then(|name| name.split(|&byte| byte == 0).next());
            Ok((name.ok_or(ImageError::Truncated)?, self.bytes_of(index)?))
        })
    }

    /// The bytes of a section; none for those that have none in the file.
    fn bytes_of(&self, index: usize) -> Result<&'a [u8], ImageError> {
        let header = self.at + index * SECTION_HEADER;
        if u32_at(self.image, header + TYPE_AT)? == NOBITS {
            return Ok(&[]);
        }
        let offset = size_at(self.image, header + OFFSET_AT)?;
        let size = size_at(self.image, header + SIZE_AT)?;
        let end = offset.checked_add(size).ok_or(ImageError::Truncated)?;
        self.image.get(offset..end).ok_or(ImageError::Truncated)
    }
}

/// Zero bytes to a multiple of 8.
fn align(output: &mut Vec<u8>) {
    output.resize(output.len().next_multiple_of(8), 0);
}

/// Overwrites bytes that are there.
fn put(output: &mut [u8], at: usize, bytes: &[u8]) {
    output[at..at + bytes.len()].copy_from_slice(bytes);
}

fn u16_at(image: &[u8], at: usize) -> Result<u16, ImageError> {
    chunk(image, at).map(u16::from_le_bytes)
}

fn u32_at(image: &[u8], at: usize) -> Result<u32, ImageError> {
    chunk(image, at).map(u32::from_le_bytes)
}

fn size_at(image: &[u8], at: usize) -> Result<usize, ImageError> {
    let value = u64::from_le_bytes(chunk(image, at)?);
    usize::try_from(value).map_err(|_| ImageError::Truncated)
}

fn chunk<const N: usize>(image: &[u8], at: usize) -> Result<[u8; N], ImageError> {
    let bytes = image.get(at..).and_then(|rest| rest.first_chunk::<N>());
    bytes.copied().ok_or(ImageError::Truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with one section, which holds the names.
    fn small_image() -> Vec<u8> {
        let mut image = vec![0; HEADER];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let names = image.len();
        image.extend(b"\0.names\0");
        let table = image.len();
        image.resize(table + 2 * SECTION_HEADER, 0);
        let header = table + SECTION_HEADER;
        put(&mut image, header + NAME_AT, &1_u32.to_le_bytes());
        put(&mut image, header + TYPE_AT, &3_u32.to_le_bytes());
        put(&mut image, header + OFFSET_AT, &(names as u64).to_le_bytes());
        put(&mut image, header + SIZE_AT, &8_u64.to_le_bytes());
        put(&mut image, SECTIONS_AT, &(table as u64).to_le_bytes());
        put(&mut image, SECTION_HEADER_SIZE_AT, &64_u16.to_le_bytes());
        put(&mut image, SECTION_COUNT_AT, &2_u16.to_le_bytes());
        put(&mut image, NAMES_INDEX_AT, &1_u16.to_le_bytes());
        image
    }

    #[test]
    fn what_is_appended_is_found_again() {
        let image = small_image();
        assert_eq!(parts(&image), Ok(Vec::new()));
        let one = append(&image, &[b"first", b""]).unwrap();
        assert_eq!(parts(&one).unwrap(), [&b"first"[..], b""]);
        let two = append(&one, &[b"second one"]).unwrap();
        assert_eq!(parts(&two).unwrap(), [&b"first"[..], b"", b"second one"]);
        assert_eq!(two[HEADER..image.len()], image[HEADER..]);
    }

    #[test]
    fn damaged_images_are_errors() {
        let image = append(&small_image(), &[b".version 8.3"]).unwrap();
        assert_eq!(parts(b"PTX"), Err(ImageError::NotElf));
        for end in 0..image.len() {
            assert!(parts(&image[..end]).is_err(), "{end}");
            assert!(append(&image[..end], &[]).is_err(), "{end}");
        }
        for at in 0..image.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = image.clone();
                changed[at] = value;
                // An answer or an error, no panic.
                let _ = (parts(&changed), append(&changed, &[b"more"]));
            }
        }
    }
}
