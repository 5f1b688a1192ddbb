//! The images in a fat binary: CUDA's, which `fatbinary` writes, and HIP's, which `clang-offload-bundler`
//! writes.
//!
//! Source: "Code Object Bundle" of LLVM's "Clang Offload Bundler"; CUDA's format as `cuobjdump` shows it.

use super::{CUDA, FatBinaryRuntime};
use crate::offload_binary::ImageKind;
use crate::{FormatError, Problem};

/// One image of a fat binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatBinaryImage<'a> {
    /// What it is; a fat binary itself where that is compressed as a whole.
    pub kind: ImageKind,
    /// Target triple; empty where that cannot be told.
    pub triple: &'a str,
    /// Processor.
    pub processor: Processor<'a>,
    /// Its bytes, compressed or not.
    pub bytes: &'a [u8],
    /// Whether the bytes are compressed.
    pub compressed: bool,
}

/// The processor of an image, as each format has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor<'a> {
    /// The number behind `sm_`.
    Nvidia(u32),
    /// AMD's target identifier; may be empty.
    Named(&'a str),
}

/// First bytes of a fat binary of CUDA's.
const CUDA_MAGIC: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
/// Size of the header in front of its images.
const CUDA_HEADER_SIZE: u64 = 16;
/// The least size of the header in front of one image.
const CUDA_IMAGE_HEADER_SIZE: u64 = 64;
/// Flag of an image that is compressed: by CUDA's own method, and by Zstandard.
const CUDA_COMPRESSED: u64 = 0x2000 | 0x8000;

/// First bytes of a bundle.
const BUNDLE_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// First bytes of a compressed bundle.
const COMPRESSED_BUNDLE_MAGIC: &[u8] = b"CCOB";

/// The images in the section of a runtime, which holds the fat binaries of all objects that were linked.
///
/// # Errors
/// A fat binary is malformed.
pub fn images<'a>(
    runtime: &FatBinaryRuntime,
    section: &'a [u8],
) -> Result<Vec<FatBinaryImage<'a>>, FormatError> {
    let mut images = Vec::new();
    let mut start = 0;
    while let Some(length) = section[start..].iter().position(|&byte| byte != 0) {
        // Fat binaries are aligned, with zeros between them.
        start += length;
        let rest = &section[start..];
        let read = match runtime.kind == CUDA.kind {
            true => cuda_images(rest, &mut images),
            false => bundled_images(rest, &mut images),
        };
        start += read.map_err(|error| error.at_base(start as u64))?;
    }
    Ok(images)
}

/// Reads one fat binary of CUDA's and returns its size.
fn cuda_images<'a>(bytes: &'a [u8], images: &mut Vec<FatBinaryImage<'a>>) -> Result<usize, FormatError> {
    if !bytes.starts_with(&CUDA_MAGIC) {
        return Err(FormatError::new(0, Problem::NoFatBinary));
    }
    let size = number(bytes, 8, 8)?;
    let binary = slice(bytes, "the fat binary", 0, CUDA_HEADER_SIZE.saturating_add(size))?;
    let mut at = CUDA_HEADER_SIZE;
    while at < binary.len() as u64 {
        let header_size = number(binary, at + 4, 4)?;
        if header_size < CUDA_IMAGE_HEADER_SIZE {
            let what = "the size of an image's header";
            return Err(FormatError::new(
                at + 4,
                Problem::TooSmall {
                    what,
                    found: header_size,
                    minimum: CUDA_IMAGE_HEADER_SIZE,
                },
            ));
        }
        let start = at + header_size;
        let image = slice(
            binary,
            "an image of the fat binary",
            start,
            number(binary, at + 8, 8)?,
        )?;
        images.push(FatBinaryImage {
            kind: match number(binary, at, 2)? {
                1 => ImageKind::PTX,
                2 => ImageKind::CUBIN,
                _ => ImageKind::NONE,
            },
            triple: "nvptx64-nvidia-cuda",
            processor: Processor::Nvidia(number(binary, at + 28, 4)? as u32),
            bytes: image,
            compressed: number(binary, at + 40, 8)? & CUDA_COMPRESSED != 0,
        });
        at = start + image.len() as u64;
    }
    Ok(binary.len())
}

/// Reads one bundle and returns where it ends.
fn bundled_images<'a>(bytes: &'a [u8], images: &mut Vec<FatBinaryImage<'a>>) -> Result<usize, FormatError> {
    if bytes.starts_with(COMPRESSED_BUNDLE_MAGIC) {
        images.push(FatBinaryImage {
            kind: ImageKind::FATBINARY,
            triple: "",
            processor: Processor::Named(""),
            bytes,
            compressed: true,
        });
        return Ok(bytes.len());
    }
    if !bytes.starts_with(BUNDLE_MAGIC) {
        return Err(FormatError::new(0, Problem::NoFatBinary));
    }
    let mut at = BUNDLE_MAGIC.len() as u64;
    let count = number(bytes, at, 8)?;
    at += 8;
    let mut end = at;
    for _ in 0..count {
        let (start, size) = (number(bytes, at, 8)?, number(bytes, at + 8, 8)?);
        let length = number(bytes, at + 16, 8)?;
        let name = slice(bytes, "the name of a bundle entry", at + 24, length)?;
        let what = "the name of a bundle entry";
        let name =
            std::str::from_utf8(name).map_err(|_| FormatError::new(at + 24, Problem::NotUtf8 { what }))?;
        at += 24 + length;
        let image = slice(bytes, "an image of the bundle", start, size)?;
        end = end.max(at).max(start + size);
        // `hip-amdgcn-amd-amdhsa--gfx90a:xnack+`; the host has an entry without an image.
        let target = name.split_once('-').map_or("", |(_, target)| target);
        let (triple, processor) = target.split_once("--").unwrap_or((target, ""));
        if !image.is_empty() {
            images.push(FatBinaryImage {
                kind: ImageKind::OBJECT,
                triple,
                processor: Processor::Named(processor),
                bytes: image,
                compressed: false,
            });
        }
    }
    Ok(end as usize)
}

/// A little-endian number of up to 8 bytes.
fn number(bytes: &[u8], offset: u64, size: u64) -> Result<u64, FormatError> {
    let field = slice(bytes, "a field of the fat binary", offset, size)?;
    let mut number = [0; 8];
    number[..field.len()].copy_from_slice(field);
    Ok(u64::from_le_bytes(number))
}

fn slice<'a>(bytes: &'a [u8], what: &'static str, start: u64, length: u64) -> Result<&'a [u8], FormatError> {
    let outside = || {
        let limit = bytes.len() as u64;
        FormatError::new(
            start,
            Problem::OutOfBounds {
                what,
                start,
                length,
                limit,
            },
        )
    };
    let end = start.checked_add(length).ok_or_else(outside)?;
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range
        .and_then(|(start, end)| bytes.get(start..end))
        .ok_or_else(outside)
}
