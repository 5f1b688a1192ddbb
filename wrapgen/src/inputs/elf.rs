//! Finds the sections of an ELF file that this crate looks into.

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64, SHT_NOBITS, SectionType};
use object::read::elf::{FileHeader, SectionHeader, SectionTable};
use offloom_abi::names::{OFFLOADING_RELOCATABLE_SECTION, OFFLOADING_SECTION, SHT_LLVM_OFFLOADING};

use super::InputPart;
use crate::error::{Error, Result};

/// A section's contents and where they start in the part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section<'a> {
    pub(super) offset: u64,
    pub(super) bytes: &'a [u8],
}

/// The sections that hold OffloadBinary members: by type as LLVM's tools do, or by name, because tools that copy
/// sections may lose the type.
pub(super) fn offloading_sections<'a>(part: &InputPart<'a>) -> Result<Vec<Section<'a>>> {
    let wanted = |kind: SectionType, name: &[u8]| {
        let named = [OFFLOADING_SECTION, OFFLOADING_RELOCATABLE_SECTION]
            .map(str::as_bytes)
            .contains(&name);
        kind == SectionType(SHT_LLVM_OFFLOADING) || named
    };
    sections(part, wanted)
}

/// The sections that `wanted` accepts by type and name.
pub(super) fn sections<'a>(
    part: &InputPart<'a>,
    wanted: impl Fn(SectionType, &[u8]) -> bool,
) -> Result<Vec<Section<'a>>> {
    // Byte 4 of an ELF file says whether its records are the 32-bit or the 64-bit ones.
    let found = if part.bytes.get(4) == Some(&object::elf::ELFCLASS32.0) {
        find::<FileHeader32<Endianness>>(part.bytes, wanted)
    } else {
        find::<FileHeader64<Endianness>>(part.bytes, wanted)
    };
    found.map_err(|(offset, problem)| Error::Elf {
        input: part.origin.to_string(),
        offset,
        problem: problem.to_string(),
    })
}

fn find<Elf: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    wanted: impl Fn(SectionType, &[u8]) -> bool,
) -> Result<Vec<Section<'_>>, (u64, object::Error)> {
    let header = Elf::parse(bytes).map_err(|error| (0, error))?;
    let endian = header.endian().map_err(|error| (0, error))?;
    let table_offset = header.e_shoff(endian).into();
    let table: SectionTable<'_, Elf> = header
        .sections(endian, bytes)
        .map_err(|error| (table_offset, error))?;
    let mut found = Vec::new();
    for section in table.iter() {
        let name = table
            .section_name(endian, section)
            .map_err(|error| (table_offset, error))?;
        let kind = section.sh_type(endian);
        if kind == SHT_NOBITS || !wanted(kind, name) {
            continue;
        }
        let offset = section.sh_offset(endian).into();
        let bytes = section.data(endian, bytes).map_err(|error| (offset, error))?;
        found.push(Section { offset, bytes });
    }
    Ok(found)
}
