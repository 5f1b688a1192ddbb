//! Finds the sections of an ELF file that this crate looks into.

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64, SHF_ALLOC, SHT_NOBITS, SectionType};
use object::read::elf::{FileHeader, SectionHeader, SectionTable};
use offloom_abi::names::{OFFLOADING_RELOCATABLE_SECTION, OFFLOADING_SECTION, SHT_LLVM_OFFLOADING};

use crate::error::Error;

/// A section's contents and where they start in the part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section<'a> {
    pub(crate) offset: u64,
    /// Whether it is a part of the running program.
    pub(crate) loaded: bool,
    pub(crate) bytes: &'a [u8],
}

/// What is wrong with an ELF file, and at which offset.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) offset: u64,
    pub(crate) problem: object::Error,
}

impl Malformed {
    /// The error for the user, about `input`.
    pub(crate) fn in_input(self, input: &impl ToString) -> Error {
        Error::Elf {
            input: input.to_string(),
            offset: self.offset,
            problem: self.problem.to_string(),
        }
    }
}

/// The sections that hold OffloadBinary members: by type as LLVM's tools do, or by name, because tools that
/// copy sections may lose the type.
pub(crate) fn offloading_sections(bytes: &[u8]) -> Result<Vec<Section<'_>>, Malformed> {
    let names = [OFFLOADING_SECTION, OFFLOADING_RELOCATABLE_SECTION].map(str::as_bytes);
    sections(bytes, |kind, name| {
        kind == SectionType(SHT_LLVM_OFFLOADING) || names.contains(&name)
    })
}

/// The sections called `wanted`.
pub(crate) fn sections_named<'a>(bytes: &'a [u8], wanted: &str) -> Result<Vec<Section<'a>>, Malformed> {
    sections(bytes, |_, name| name == wanted.as_bytes())
}

/// The sections that `wanted` accepts by type and name, in order.
fn sections(
    bytes: &[u8],
    wanted: impl Fn(SectionType, &[u8]) -> bool,
) -> Result<Vec<Section<'_>>, Malformed> {
    // Byte 4 of an ELF file says whether its records are the 32-bit or the 64-bit ones.
    if bytes.get(4) == Some(&object::elf::ELFCLASS32.0) {
        find::<FileHeader32<Endianness>>(bytes, wanted)
    } else {
        find::<FileHeader64<Endianness>>(bytes, wanted)
    }
}

fn find<Elf: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    wanted: impl Fn(SectionType, &[u8]) -> bool,
) -> Result<Vec<Section<'_>>, Malformed> {
    let malformed = |offset: u64| move |problem| Malformed { offset, problem };
    let header = Elf::parse(bytes).map_err(malformed(0))?;
    let endian = header.endian().map_err(malformed(0))?;
    let table_offset = header.e_shoff(endian).into();
    let table: SectionTable<'_, Elf> = header.sections(endian, bytes).map_err(malformed(table_offset))?;
    let mut found = Vec::new();
    for section in table.iter() {
        let name = table
            .section_name(endian, section)
            .map_err(malformed(table_offset))?;
        let kind = section.sh_type(endian);
        if kind == SHT_NOBITS || !wanted(kind, name) {
            continue;
        }
        let offset = section.sh_offset(endian).into();
        let bytes = section.data(endian, bytes).map_err(malformed(offset))?;
        found.push(Section {
            offset,
            loaded: section.sh_flags(endian).contains(SHF_ALLOC),
            bytes,
        });
    }
    Ok(found)
}
