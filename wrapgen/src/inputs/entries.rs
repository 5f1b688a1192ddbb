//! Reads the offload entries of a host object: which device symbols it expects in a device image.
//!
//! The records' pointers are relocations in an object, so the name of an entry is found through the
//! relocation of its name field. Layout: `offloom_abi::entry`.

use std::collections::HashMap;

use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, Relocation, RelocationTarget, SectionIndex,
};
use offloom_abi::entry::{self, Entry};
use offloom_abi::kernel_name::kernel_of_region_id;
use offloom_abi::{LlvmVersion, OffloadKind};

use super::Origin;
use crate::error::Error;

/// An entry in a host object.
#[derive(Debug, Clone, Copy)]
pub struct HostEntry<'a> {
    /// The object or archive member it stands in.
    pub origin: Origin<'a>,
    /// The device symbol.
    pub name: &'a str,
    /// Its record; the pointers in it are not filled in yet.
    pub record: Entry,
    /// Whether its address is a region id, which only kernels have.
    pub has_region_id: bool,
}

/// The entries of the release `version` in the relocatable ELF object `bytes`, in order, in the sections that
/// `producer` names a producer of by their names.
pub(super) fn host_entries<'a>(
    version: LlvmVersion,
    origin: Origin<'a>,
    bytes: &'a [u8],
    producer: impl Fn(&str) -> Option<OffloadKind>,
) -> Result<Vec<HostEntry<'a>>, Error> {
    let malformed = |offset: u64, problem: String| Error::Elf {
        input: origin.to_string(),
        offset,
        problem,
    };
    let unreadable = |error: object::Error| malformed(0, error.to_string());
    let file = object::File::parse(bytes).map_err(unreadable)?;
    let mut found = Vec::new();
    for section in file.sections() {
        let name = str::from_utf8(section.name_bytes().map_err(unreadable)?).unwrap_or_default();
        let Some(producer) = producer(name) else { continue };
        let start = section.file_range().map_or(0, |(offset, _)| offset);
        let table = section.data().map_err(unreadable)?;
        let pointers: HashMap<u64, Relocation> = section.relocations().collect();
        let record_size = entry::size(version) as u64;
        let records = entry::parse_table(version, table);
        for (number, record) in (0..).zip(records.map_err(|error| malformed(start, error.to_string()))?) {
            let offset = number * record_size;
            let record = record.map_err(|error| malformed(start + offset, error.to_string()))?;
            let record = record.of_producer(version, producer);
            let pointer = |field: usize| pointers.get(&(offset + field as u64));
            let name = pointer(entry::name_offset(version)).and_then(|pointer| text_at(&file, pointer));
            let name = name.ok_or_else(|| {
                let problem = "the name of an offload entry points to no text".to_owned();
                malformed(start + offset, problem)
            })?;
            let address = pointer(entry::address_offset(version));
            found.push(HostEntry {
                origin,
                name,
                record,
                has_region_id: address.is_some_and(|pointer| points_to_region_id(&file, pointer)),
            });
        }
    }
    Ok(found)
}

/// Whether the relocatable ELF object `bytes` has the section for entries of OpenMP of the release `version`.
pub(super) fn has_entries(version: LlvmVersion, bytes: &[u8]) -> bool {
    object::File::parse(bytes).is_ok_and(|file| file.section_by_name(entry::section(version)).is_some())
}

/// The NUL-terminated text that a pointer in an object leads to.
fn text_at<'a>(file: &object::File<'a>, pointer: &Relocation) -> Option<&'a str> {
    let (section, start): (SectionIndex, u64) = match pointer.target() {
        RelocationTarget::Symbol(index) => {
            let symbol = file.symbol_by_index(index).ok()?;
            (symbol.section_index()?, symbol.address())
        }
        RelocationTarget::Section(index) => (index, 0),
        _ => return None,
    };
    let bytes = file.section_by_index(section).ok()?.data().ok()?;
    let start = usize::try_from(start.checked_add_signed(pointer.addend())?).ok()?;
    let text = bytes.get(start..)?;
    let end = text.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&text[..end]).ok()
}

fn points_to_region_id(file: &object::File<'_>, pointer: &Relocation) -> bool {
    let RelocationTarget::Symbol(index) = pointer.target() else {
        return false;
    };
    let symbol = file
        .symbol_table()
        .and_then(|table| table.symbol_by_index(index).ok());
    symbol
        .and_then(|symbol| symbol.name().ok())
        .is_some_and(|name| kernel_of_region_id(name).is_some())
}
