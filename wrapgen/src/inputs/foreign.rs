//! Finds device code in objects of other systems than the one that is linked for: COFF and Mach-O, for
//! looking into only.

use object::macho::{MachHeader32, MachHeader64};
use object::read::macho::MachHeader;
use object::{Endianness, File, FileKind, Object, ObjectSection};
use offloom_abi::names::OFFLOADING_SECTION;

use super::elf::Section;

/// The sections that hold OffloadBinary members: these formats have no type for them, so the name tells.
pub(super) fn offloading_sections(bytes: &[u8]) -> object::Result<Vec<Section<'_>>> {
    match FileKind::parse(bytes)? {
        FileKind::MachO32 => check_load_commands::<MachHeader32<Endianness>>(bytes)?,
        FileKind::MachO64 => check_load_commands::<MachHeader64<Endianness>>(bytes)?,
        _ => {}
    }
    let file = File::parse(bytes)?;
    let mut found = Vec::new();
    for section in file.sections() {
        if section.name_bytes()? != OFFLOADING_SECTION.as_bytes() {
            continue;
        }
        found.push(Section {
            offset: section.file_range().map_or(0, |(offset, _)| offset),
            // What device code is linked into is ELF.
            loaded: false,
            bytes: section.data()?,
        });
    }
    Ok(found)
}

/// Reads the load commands, among which the sections are listed: [`File`] passes over those that it cannot
/// read.
fn check_load_commands<Header: MachHeader<Endian = Endianness>>(bytes: &[u8]) -> object::Result<()> {
    let header = Header::parse(bytes, 0)?;
    let endian = header.endian()?;
    let mut commands = header.load_commands(endian, bytes, 0)?;
    while commands.next()?.is_some() {}
    Ok(())
}
