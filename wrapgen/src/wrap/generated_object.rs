//! Adds device images to an object that LLVM's code generator made of a registration module.
//!
//! The module only declares the images, so they pass neither through IR nor through the code generator; here
//! they become a section of the object, and their symbols local ones in it, as they are when LLVM compiles
//! the whole module.

use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader as _, Rela as _, SectionHeader as _, Sym as _};
use object::{Endianness, SymbolIndex};
use offloom_abi::names;

use super::relocatable::{Contents, Place, Relocatable, Relocation, Section, Symbol};
use crate::error::{Error, Result};
use crate::inputs::Piece;
use crate::output::OutputFile;

/// Why an object cannot be taken over.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error(transparent)]
    Malformed(#[from] object::Error),
    #[error("it has a symbol in a section that is not copied")]
    SymbolSection,
}

/// The images of a registration module, all in one section.
#[derive(Debug)]
pub struct ImageSection<'a> {
    /// Name of the section.
    pub name: &'a str,
    /// What each image starts at a multiple of, in bytes.
    pub alignment: u64,
    /// Symbol of each image, and its bytes in pieces that follow each other.
    pub images: Vec<(String, Vec<Piece<'a>>)>,
}

impl ImageSection<'_> {
    /// Writes `object` with this section added.
    ///
    /// # Errors
    /// The object is none that a code generator makes, or the output cannot be written.
    pub fn write_into(&self, object: &[u8], output: &mut OutputFile) -> Result<()> {
        let relocatable = self.add_to(object).map_err(|problem| {
            Error::Usage(format!(
                "the registration code that LLVM generated cannot be used: {problem}"
            ))
        })?;
        relocatable.write(output, None)
    }

    fn add_to(&self, object: &[u8]) -> Result<Relocatable<'_>, Problem> {
        let header = FileHeader64::<Endianness>::parse(object)?;
        let endian = header.endian()?;
        let table = header.sections(endian, object)?;
        let symbols = table.symbols(endian, object, elf::SHT_SYMTAB)?;

        let mut sections = Vec::new();
        let mut numbers = vec![None; table.len()];
        for (index, section) in table.enumerate() {
            let kind = section.sh_type(endian);
            if [elf::SHT_NULL, elf::SHT_SYMTAB, elf::SHT_STRTAB, elf::SHT_RELA].contains(&kind) {
                continue;
            }
            numbers[index.0] = Some(sections.len());
            sections.push(Section {
                name: String::from_utf8_lossy(table.section_name(endian, section)?).into_owned(),
                kind,
                flags: section.sh_flags(endian),
                alignment: section.sh_addralign(endian),
                entry_size: section.sh_entsize(endian),
                contents: match kind {
                    elf::SHT_NOBITS => Contents::Zeros(section.sh_size(endian)),
                    _ => Contents::Bytes(section.data(endian, object)?.to_vec()),
                },
                relocations: Vec::new(),
            });
        }
        let image_section = sections.len();
        sections.push(self.section());

        // Local symbols come first: the images' are local now.
        let mut order: Vec<(SymbolIndex, Symbol)> = Vec::new();
        for (index, symbol) in symbols.enumerate() {
            if index.0 == 0 {
                continue;
            }
            let name = String::from_utf8_lossy(symbol.name(endian, symbols.strings())?).into_owned();
            let section = match symbol.st_shndx(endian) {
                elf::SHN_UNDEF => Place::Undefined,
                elf::SHN_ABS => Place::Absolute,
                number => match numbers.get(usize::from(number.0)).copied().flatten() {
                    Some(number) => Place::Section(number, symbol.st_value(endian)),
                    None => return Err(Problem::SymbolSection),
                },
            };
            let mut symbol = Symbol {
                name,
                place: section,
                size: symbol.st_size(endian),
                kind: symbol.st_type(),
                binding: symbol.st_bind(),
                visibility: symbol.st_visibility(),
            };
            if let Some((offset, size)) = self.range_of(&symbol.name) {
                symbol = Symbol {
                    place: Place::Section(image_section, offset),
                    size,
                    kind: elf::STT_OBJECT,
                    binding: elf::STB_LOCAL,
                    visibility: elf::STV_DEFAULT,
                    ..symbol
                };
            }
            order.push((index, symbol));
        }
        order.sort_by_key(|(_, symbol)| symbol.binding != elf::STB_LOCAL);
        let mut positions = vec![0; symbols.len()];
        for (position, (index, _)) in order.iter().enumerate() {
            positions[index.0] = position;
        }

        for (_, section) in table.enumerate() {
            let Some((relocations, _)) = section.rela(endian, object)? else {
                continue;
            };
            let target = section.info_link(endian);
            let Some(target) = numbers.get(target.0).copied().flatten() else {
                continue;
            };
            sections[target].relocations = relocations
                .iter()
                .map(|relocation| Relocation {
                    offset: relocation.r_offset(endian),
                    symbol: relocation
                        .symbol(endian, false)
                        .and_then(|symbol| positions.get(symbol.0).copied())
                        .unwrap_or_default(),
                    kind: relocation.r_type(endian, false),
                    addend: relocation.r_addend(endian),
                })
                .collect();
        }
        Ok(Relocatable {
            machine: header.e_machine(endian),
            sections,
            symbols: order.into_iter().map(|(_, symbol)| symbol).collect(),
        })
    }

    fn section(&self) -> Section<'_> {
        Section {
            name: self.name.to_owned(),
            // LLVM gives the type to the section of this exact name only.
            kind: match self.name {
                names::OFFLOADING_SECTION => elf::SectionType(names::SHT_LLVM_OFFLOADING),
                _ => elf::SHT_PROGBITS,
            },
            flags: elf::SHF_ALLOC,
            alignment: self.alignment,
            entry_size: 0,
            contents: Contents::Pieces(self.images.iter().map(|(_, pieces)| pieces.clone()).collect()),
            relocations: Vec::new(),
        }
    }

    /// Where in the section the image of that symbol lies.
    fn range_of(&self, symbol: &str) -> Option<(u64, u64)> {
        let mut end = 0u64;
        for (name, pieces) in &self.images {
            let start = end.next_multiple_of(self.alignment);
            let size: u64 = pieces.iter().map(Piece::size).sum();
            if name == symbol {
                return Some((start, size));
            }
            end = start + size;
        }
        None
    }
}
