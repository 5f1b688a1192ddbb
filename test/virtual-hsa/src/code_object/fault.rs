//! All that may be wrong with a code object.

use thiserror::Error;

/// What is wrong with a code object.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum CodeObjectFault {
    #[error("it is no whole ELF file: {0}")]
    NotElf(String),
    #[error("its ELF header says {field} {found}, where {wanted} is wanted")]
    Header {
        field: &'static str,
        found: u64,
        wanted: &'static str,
    },
    #[error("its e_flags {0:#x} name no known processor")]
    UnknownProcessor(u32),
    #[error("its e_flags {0:#x} have bits without a meaning")]
    UnknownFlags(u32),
    #[error("its e_flags are those of `{0}`, whose processor lacks one of the features")]
    ImpossibleFeatures(String),
    #[error("segment {index}: {what}")]
    Segment { index: usize, what: &'static str },
    #[error("it has {0} notes of AMDGPU metadata, where 1 is wanted")]
    Notes(usize),
    #[error("relocation {index} has type {kind}, which loaders do not apply")]
    RelocationType { index: usize, kind: u32 },
    #[error("relocation {index} writes to {address:#x}, which is in no segment that is loaded")]
    RelocationPlace { index: usize, address: u64 },
    #[error("symbol `{symbol}`: {what}")]
    Symbol { symbol: String, what: &'static str },
    #[error("its metadata is no whole MessagePack map: {0}")]
    MessagePack(String),
    #[error("its metadata has no `{key}` in {place}")]
    Missing { key: &'static str, place: String },
    #[error("its metadata has a `{key}` in {place} that is not {wanted}")]
    Kind {
        key: &'static str,
        place: String,
        wanted: &'static str,
    },
    #[error("its metadata is of version {found:?}, which is not that of ABI version {abi}")]
    MetadataVersion { found: [u64; 2], abi: u8 },
    #[error("its metadata is for `{metadata}`, its ELF header for `{header}`")]
    TargetsDiffer { metadata: String, header: String },
    #[error("kernel `{kernel}`: {what}")]
    Kernel { kernel: String, what: String },
    #[error("descriptor `{0}` is not in the metadata")]
    NotInMetadata(String),
    #[error("it is for `{code}`, the device is `{device}`")]
    OtherDevice { code: String, device: String },
    #[error("variable `{0}` has no definition")]
    Undefined(String),
    #[error("there is no memory for it")]
    NoMemory,
}
