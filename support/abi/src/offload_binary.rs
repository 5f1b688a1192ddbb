//! OffloadBinary: device images with their target, concatenated; what `.llvm.offloading` sections hold.
//!
//! All integers are little endian; all offsets count from the start of the container.
//!
//! | offset | type | field |
//! | --- | --- | --- |
//! | 0 | 4 bytes | magic `10 ff 10 ad` |
//! | 4 | u32 | version: 1, or 2 since LLVM 23 |
//! | 8 | u64 | bytes of the container with header and trailing padding, a multiple of 8 |
//! | 16 | u64 | offset of the entry; of the first one in version 2 |
//! | 24 | u64 | bytes of the entry, 40; in version 2 the number of entries |
//! | entry + 0 | u16 | [`ImageKind`] |
//! | entry + 2 | u16 | [`OffloadKind`](crate::OffloadKind), numbered by release |
//! | entry + 4 | u32 | flags; 1 in version 2: there are strings alone, no image |
//! | entry + 8 | u64 | offset of the string pairs |
//! | entry + 16 | u64 | number of string pairs |
//! | entry + 24 | u64 | offset of the image |
//! | entry + 32 | u64 | bytes of the image |
//! | pair + 0, pair + 8 | u64 | offsets of a NUL-terminated key and value |
//! | pair + 16 | u64 | bytes of the value; version 2 alone, where nothing need end the value |
//!
//! A *member* here is one entry with its image.
//!
//! [`members`] reads without copying; [`MemberDescription::header`] gives the bytes before an image, and
//! [`ContainerHeader::of`] those before several, so that a writer can stream the images themselves. Source:
//! `llvm/Object/OffloadBinary.h` and `OffloadBinary.cpp`.

mod read;
mod write;

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ContainerFormat;

pub use read::{MAX_STRING_BYTES, Member, Members, members};
pub use write::{ContainerHeader, DescriptionError, MemberDescription};

/// First bytes of every container.
pub const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];

/// What containers and images start at a multiple of, in bytes.
pub const ALIGNMENT: u64 = 8;

/// Key of the image's target triple.
pub const TRIPLE: &str = "triple";

/// Key of the image's processor.
pub const ARCH: &str = "arch";

/// Key of the image's target features.
pub const FEATURE: &str = "feature";

/// What an image holds. A number that no known release uses is kept as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageKind(pub u16);

impl ImageKind {
    /// Unset: anything that the packager did not recognise.
    pub const NONE: Self = Self(0);
    /// A relocatable object or shared library.
    pub const OBJECT: Self = Self(1);
    /// LLVM bitcode.
    pub const BITCODE: Self = Self(2);
    /// A CUDA binary.
    pub const CUBIN: Self = Self(3);
    /// A CUDA or HIP fat binary.
    pub const FATBINARY: Self = Self(4);
    /// PTX assembly.
    pub const PTX: Self = Self(5);
    /// SPIR-V (since LLVM 22).
    pub const SPIRV: Self = Self(6);

    /// How LLVM spells it, which is also its file name extension; `None` for an unknown number. Empty: unset.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NONE => "",
            Self::OBJECT => "o",
            Self::BITCODE => "bc",
            Self::CUBIN => "cubin",
            Self::FATBINARY => "fatbin",
            Self::PTX => "s",
            Self::SPIRV => "spv",
            _ => return None,
        })
    }

    /// The kind that the stock packagers give a file of this extension (without the dot).
    pub fn from_extension(extension: &str) -> Self {
        match extension {
            "o" => Self::OBJECT,
            "bc" => Self::BITCODE,
            "cubin" => Self::CUBIN,
            "fatbin" => Self::FATBINARY,
            "s" => Self::PTX,
            _ => Self::NONE,
        }
    }
}

/// The fixed start of a container.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    version: U32,
    size: U64,
    entry_offset: U64,
    /// In version 2 the number of entries.
    entry_size: U64,
}

const _: () = {
    assert!(size_of::<Header>() == 32);
    assert!(offset_of!(Header, version) == 4);
    assert!(offset_of!(Header, size) == 8);
    assert!(offset_of!(Header, entry_offset) == 16);
    assert!(offset_of!(Header, entry_size) == 24);
};

/// What a member says about its image.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Entry {
    image_kind: U16,
    offload_kind: U16,
    flags: U32,
    string_offset: U64,
    number_of_strings: U64,
    image_offset: U64,
    image_size: U64,
}

const _: () = {
    assert!(size_of::<Entry>() == 40);
    assert!(offset_of!(Entry, offload_kind) == 2);
    assert!(offset_of!(Entry, flags) == 4);
    assert!(offset_of!(Entry, string_offset) == 8);
    assert!(offset_of!(Entry, number_of_strings) == 16);
    assert!(offset_of!(Entry, image_offset) == 24);
    assert!(offset_of!(Entry, image_size) == 32);
};

/// A key and its value: offsets of NUL-terminated strings. In version 2 the value's length stands behind.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StringPair {
    key_offset: U64,
    value_offset: U64,
}

const _: () = {
    assert!(size_of::<StringPair>() == 16);
    assert!(offset_of!(StringPair, value_offset) == 8);
};

/// Bytes of a [`StringPair`] with what stands behind it.
const fn pair_size(format: ContainerFormat) -> usize {
    match format {
        ContainerFormat::Version1 => size_of::<StringPair>(),
        ContainerFormat::Version2 => size_of::<StringPair>() + size_of::<U64>(),
    }
}

/// The format's number in a container.
const fn version_number(format: ContainerFormat) -> u32 {
    match format {
        ContainerFormat::Version1 => 1,
        ContainerFormat::Version2 => 2,
    }
}
