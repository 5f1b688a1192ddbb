//! Reads the offload entries of a linked host program or shared library.
//!
//! A linked record holds the addresses themselves, or its dynamic relocations do. Layout:
//! `offloom_abi::entry`.

use std::collections::HashMap;

use object::{Object, ObjectSection, RelocationTarget};
use offloom_abi::LlvmVersion;
use offloom_abi::entry::{self, Entry};

use super::Origin;
use crate::error::Error;

/// The name and the record of each entry of the release `version` in the linked ELF file `bytes`, in order;
/// none where there is no entry section.
///
/// # Errors
/// The file or its table is malformed, or the name of an entry is nowhere in the file.
pub(super) fn linked_entries<'a>(
    version: LlvmVersion,
    origin: Origin<'a>,
    bytes: &'a [u8],
) -> Result<Vec<(&'a str, Entry)>, Error> {
    let malformed = |offset: u64, problem: String| Error::Elf {
        input: origin.to_string(),
        offset,
        problem,
    };
    let unreadable = |error: object::Error| malformed(0, error.to_string());
    let file = object::File::parse(bytes).map_err(unreadable)?;
    let relocated: HashMap<u64, u64> = file
        .dynamic_relocations()
        .into_iter()
        .flatten()
        .filter(|(_, relocation)| relocation.target() == RelocationTarget::Absolute)
        .map(|(address, relocation)| (address, relocation.addend().cast_unsigned()))
        .collect();
    let record_size = entry::size(version) as u64;
    let mut found = Vec::new();
    for section in file.sections() {
        let producer = section
            .name()
            .ok()
            .and_then(|name| entry::producer(version, name));
        let Some(producer) = producer else { continue };
        let start = section.file_range().map_or(0, |(offset, _)| offset);
        let table = section.data().map_err(unreadable)?;
        let records = entry::parse_table(version, table);
        for (number, record) in (0..).zip(records.map_err(|error| malformed(start, error.to_string()))?) {
            let offset = number * record_size;
            let record = record.map_err(|error| malformed(start + offset, error.to_string()))?;
            let record = record.of_producer(version, producer);
            let field = section
                .address()
                .wrapping_add(offset)
                .wrapping_add(entry::name_offset(version) as u64);
            let address = relocated.get(&field).copied().unwrap_or(record.name);
            let name = text_at(&file, address).ok_or_else(|| {
                let problem = "the name of an offload entry points to no text".to_owned();
                malformed(start + offset, problem)
            })?;
            found.push((name, record));
        }
    }
    Ok(found)
}

/// The NUL-terminated text at an address of the running program.
fn text_at<'a>(file: &object::File<'a>, address: u64) -> Option<&'a str> {
    let mut sections = file.sections();
    let section = sections.find(|section| {
        let start = section.address();
        start != 0 && address >= start && address - start < section.size()
    })?;
    let start = usize::try_from(address - section.address()).ok()?;
    let text = section.data().ok()?.get(start..)?;
    let end = text.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&text[..end]).ok()
}
