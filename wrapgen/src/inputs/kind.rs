//! Tells what a file is by its first bytes.

use object::{FileKind, elf};
use offloom_abi::offload_binary::MAGIC;

/// What some bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputKind {
    /// OffloadBinary members, as the packager writes them.
    OffloadBinary,
    /// A relocatable ELF object.
    Object,
    /// An ELF executable or shared library: the two cannot be told apart by their type alone.
    Linked,
    /// An ELF file of another type.
    OtherElf,
    /// An archive with its members inside.
    Archive,
    /// An archive that names its members' files.
    ThinArchive,
    /// LLVM bitcode.
    Bitcode,
    /// A COFF object or a Windows program, for reading only.
    Coff,
    /// A Mach-O object or program, for reading only.
    MachO,
    /// Anything else.
    Unknown,
}

impl InputKind {
    /// What `bytes` are.
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.starts_with(&MAGIC) {
            Self::OffloadBinary
        } else if bytes.starts_with(&elf::ELFMAG) {
            Self::of_elf(bytes)
        } else if bytes.starts_with(b"!<arch>\n") {
            Self::Archive
        } else if bytes.starts_with(b"!<thin>\n") {
            Self::ThinArchive
        } else if is_bitcode(bytes) {
            Self::Bitcode
        } else {
            Self::of_foreign(bytes)
        }
    }

    /// Whether it is an ELF file of any type.
    pub const fn is_elf(self) -> bool {
        matches!(self, Self::Object | Self::Linked | Self::OtherElf)
    }

    fn of_foreign(bytes: &[u8]) -> Self {
        match FileKind::parse(bytes) {
            Ok(FileKind::Coff | FileKind::CoffBig | FileKind::Pe32 | FileKind::Pe64) => Self::Coff,
            Ok(FileKind::MachO32 | FileKind::MachO64) => Self::MachO,
            _ => Self::Unknown,
        }
    }

    fn of_elf(bytes: &[u8]) -> Self {
        // Byte 5 is the data encoding, bytes 16 and 17 the type, in 32-bit and in 64-bit files.
        let big_endian = bytes.get(5) == Some(&elf::ELFDATA2MSB.0);
        let kind = match bytes.get(16..18) {
            Some(&[first, second]) if big_endian => u16::from_be_bytes([first, second]),
            Some(&[first, second]) => u16::from_le_bytes([first, second]),
            _ => return Self::OtherElf,
        };
        match elf::FileType(kind) {
            elf::ET_REL => Self::Object,
            elf::ET_EXEC | elf::ET_DYN => Self::Linked,
            _ => Self::OtherElf,
        }
    }
}

/// First bytes of LLVM bitcode.
pub(super) const BITCODE_MAGIC: [u8; 4] = [b'B', b'C', 0xc0, 0xde];

/// First bytes of the header that Darwin puts before bitcode.
pub(super) const BITCODE_WRAPPER_MAGIC: [u8; 4] = [0xde, 0xc0, 0x17, 0x0b];

/// Whether `bytes` start as LLVM bitcode does, with or without the wrapper that Darwin uses.
pub(crate) fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(&BITCODE_MAGIC) || bytes.starts_with(&BITCODE_WRAPPER_MAGIC)
}
