//! Writes a relocatable ELF object again with names changed and sections emptied.
//!
//! Indices of sections and symbols stay as they are, so groups, relocations and whatever else counts by them
//! is copied unread: contents of one section after the other, with the section headers behind them.

use std::collections::HashMap;

use object::LittleEndian;
use object::elf::{self, FileHeader64, SectionHeader64, Sym64};
use object::pod::{bytes_of, bytes_of_slice};
use object::read::elf::{FileHeader, SectionHeader};

use crate::error::Result;
use crate::inputs::elf::Malformed;
use crate::output::OutputFile;

/// What to change. A renaming returns the new name.
pub(super) struct Edits<'a> {
    /// Sections that lose their contents and their name.
    pub(super) remove_section: &'a dyn Fn(&str) -> bool,
    /// New names of sections, which linkers then keep even if nothing refers to them.
    pub(super) rename_section: &'a dyn Fn(&str) -> Option<String>,
    /// New names of symbols, by name and whether the object defines them.
    pub(super) rename_symbol: &'a dyn Fn(&str, bool) -> Option<String>,
}

type Header = FileHeader64<LittleEndian>;
type Section = SectionHeader64<LittleEndian>;
type Symbol = Sym64<LittleEndian>;

const ENDIAN: LittleEndian = LittleEndian;

/// An object, changed, in pieces.
pub(super) struct EditedObject<'a> {
    header: Header,
    sections: Vec<Section>,
    /// Contents by section index: as they were, then what is behind them; none of a section without contents.
    contents: Vec<Option<(&'a [u8], Vec<u8>)>>,
    /// Section headers start here.
    table_offset: u64,
}

impl<'a> EditedObject<'a> {
    /// Reads `bytes`, a 64-bit little-endian object.
    pub(super) fn new(bytes: &'a [u8], edits: &Edits<'_>) -> std::result::Result<Self, Malformed> {
        let malformed = |offset: u64| move |problem| Malformed { offset, problem };
        let header = Header::parse(bytes).map_err(malformed(0))?;
        let table = header.e_shoff.get(ENDIAN);
        let original = header.section_headers(ENDIAN, bytes).map_err(malformed(table))?;
        let names_index = header.shstrndx(ENDIAN, bytes).map_err(malformed(table))? as usize;
        let mut sections = original.to_vec();
        let mut contents = Vec::new();
        for section in original {
            let no_contents = matches!(section.sh_type(ENDIAN), elf::SHT_NULL | elf::SHT_NOBITS);
            contents.push(match no_contents {
                true => None,
                false => {
                    let data = section
                        .data(ENDIAN, bytes)
                        .map_err(malformed(section.sh_offset(ENDIAN)))?;
                    Some((data, Vec::new()))
                }
            });
        }

        // Symbols first: their names may stand in the same section as those of sections.
        let mut added: HashMap<usize, Vec<u8>> = HashMap::new();
        for index in 0..sections.len() {
            if original[index].sh_type(ENDIAN) != elf::SHT_SYMTAB {
                continue;
            }
            let symbols: &[Symbol] = original[index]
                .data_as_array(ENDIAN, bytes)
                .map_err(malformed(original[index].sh_offset(ENDIAN)))?;
            let strings = original[index].sh_link(ENDIAN) as usize;
            let mut symbols = symbols.to_vec();
            for symbol in &mut symbols {
                let is_defined = symbol.st_shndx.get(ENDIAN) != elf::SHN_UNDEF;
                if let Some(offset) = new_name(
                    &contents,
                    &mut added,
                    strings,
                    symbol.st_name.get(ENDIAN),
                    &|name| (edits.rename_symbol)(name, is_defined),
                ) {
                    symbol.st_name.set(ENDIAN, offset);
                }
            }
            contents[index] = Some((&[], bytes_of_slice(&symbols).to_vec()));
        }
        for index in 0..sections.len() {
            let name = sections[index].sh_name.get(ENDIAN);
            if text_at(&contents, names_index, name).is_some_and(edits.remove_section) {
                let section = &mut sections[index];
                section.sh_name.set(ENDIAN, 0);
                section.sh_type.set(ENDIAN, elf::SHT_PROGBITS);
                section.sh_flags.set(ENDIAN, elf::SHF_EXCLUDE);
                contents[index] = Some((&[], Vec::new()));
            } else if let Some(offset) =
                new_name(&contents, &mut added, names_index, name, edits.rename_section)
            {
                let section = &mut sections[index];
                section.sh_name.set(ENDIAN, offset);
                if section.sh_flags(ENDIAN).contains(elf::SHF_ALLOC) {
                    // Or `lld --gc-sections` drops it: only start and stop symbols refer to it.
                    let flags = section.sh_flags(ENDIAN) | elf::SHF_GNU_RETAIN;
                    section.sh_flags.set(ENDIAN, flags);
                }
            }
        }
        for (index, more) in added {
            if let Some(Some((_, behind))) = contents.get_mut(index) {
                *behind = more;
            }
        }

        let mut object = Self {
            header: *header,
            sections,
            contents,
            table_offset: 0,
        };
        object.lay_out();
        Ok(object)
    }

    fn lay_out(&mut self) {
        let mut end = size_of::<Header>() as u64;
        for (section, contents) in self.sections.iter_mut().zip(&self.contents) {
            let Some((data, behind)) = contents else { continue };
            let start = end.next_multiple_of(section.sh_addralign.get(ENDIAN).clamp(1, 4096));
            section.sh_offset.set(ENDIAN, start);
            let size = (data.len() + behind.len()) as u64;
            section.sh_size.set(ENDIAN, size);
            end = start + size;
        }
        self.table_offset = end.next_multiple_of(8);
        self.header.e_shoff.set(ENDIAN, self.table_offset);
    }

    /// Writes it to an empty file.
    pub(super) fn write(&self, output: &mut OutputFile) -> Result<()> {
        output.write(bytes_of(&self.header))?;
        let mut end = size_of::<Header>() as u64;
        for (section, contents) in self.sections.iter().zip(&self.contents) {
            let Some((data, behind)) = contents else { continue };
            let start = section.sh_offset.get(ENDIAN);
            pad(output, start - end)?;
            output.write(data)?;
            output.write(behind)?;
            end = start + section.sh_size.get(ENDIAN);
        }
        pad(output, self.table_offset - end)?;
        output.write(bytes_of_slice(&self.sections))
    }
}

fn pad(output: &mut OutputFile, size: u64) -> Result<()> {
    output.write(&vec![0; usize::try_from(size).unwrap_or_default()])
}

/// Where the new name of what is called by the text at `offset` stands in the string section; `None`: it
/// keeps its name.
fn new_name(
    contents: &[Option<(&[u8], Vec<u8>)>],
    added: &mut HashMap<usize, Vec<u8>>,
    strings: usize,
    offset: u32,
    rename: &dyn Fn(&str) -> Option<String>,
) -> Option<u32> {
    let name = rename(text_at(contents, strings, offset)?)?;
    let (data, _) = contents.get(strings)?.as_ref()?;
    let behind = added.entry(strings).or_default();
    let place = u32::try_from(data.len() + behind.len()).ok()?;
    behind.extend_from_slice(name.as_bytes());
    behind.push(0);
    Some(place)
}

fn text_at<'a>(contents: &[Option<(&'a [u8], Vec<u8>)>], strings: usize, offset: u32) -> Option<&'a str> {
    let (data, _) = contents.get(strings)?.as_ref()?;
    let text = data.get(offset as usize..)?;
    let end = text.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&text[..end]).ok()
}
