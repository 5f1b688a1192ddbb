//! Writes a relocatable ELF64 file whose large sections never pass through memory of ours.
//!
//! Everything but the contents of [`Contents::Pieces`] sections is laid out in one small buffer: headers,
//! tables, short sections. The pieces, borrowed from open files, follow it in the file; the system copies
//! them as they are.

use object::Endianness;
use object::elf::{self, SectionFlags, SectionType, SymbolBind, SymbolType, SymbolVisibility};
use object::write::StreamingBuffer;
use object::write::WritableBuffer;
use object::write::elf::{FileHeader, Rel, SectionHeader, Sym, Writer};

use crate::error::{Error, Result};
use crate::inputs::Piece;
use crate::output::OutputFile;

/// A relocatable file to be written.
#[derive(Debug)]
pub(super) struct Relocatable<'a> {
    pub(super) machine: elf::Machine,
    pub(super) sections: Vec<Section<'a>>,
    /// Local symbols first, as ELF demands.
    pub(super) symbols: Vec<Symbol>,
}

/// One section; its position in [`Relocatable::sections`] is its number.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) name: String,
    pub(super) kind: SectionType,
    pub(super) flags: SectionFlags,
    pub(super) alignment: u64,
    /// Bytes of one item, in sections whose items the linker may merge; otherwise 0.
    pub(super) entry_size: u64,
    pub(super) contents: Contents<'a>,
    pub(super) relocations: Vec<Relocation>,
}

/// What a section holds.
#[derive(Debug)]
pub(super) enum Contents<'a> {
    /// Made for this file, and short.
    Bytes(Vec<u8>),
    /// Borrowed: items that start at multiples of the section's alignment, each of pieces that follow each
    /// other.
    Pieces(Vec<Vec<Piece<'a>>>),
    /// So many zeros, which take no space in the file.
    Zeros(u64),
}

/// A place in a section that the linker fills in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Relocation {
    pub(super) offset: u64,
    /// Position in [`Relocatable::symbols`].
    pub(super) symbol: usize,
    pub(super) kind: elf::RelocationType,
    pub(super) addend: i64,
}

/// One symbol.
#[derive(Debug)]
pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) size: u64,
    pub(super) kind: SymbolType,
    pub(super) binding: SymbolBind,
    pub(super) visibility: SymbolVisibility,
}

/// Where a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Defined elsewhere.
    Undefined,
    /// Not in any section.
    Absolute,
    /// In the section of this number, at this offset.
    Section(usize, u64),
}

/// Where a section was put in the file.
#[derive(Debug, Clone, Copy, Default)]
struct Range {
    offset: u64,
    size: u64,
}

impl Section<'_> {
    fn size(&self) -> u64 {
        match &self.contents {
            Contents::Bytes(bytes) => bytes.len() as u64,
            Contents::Pieces(items) => items.iter().fold(0u64, |end, pieces| {
                let size: u64 = pieces.iter().map(Piece::size).sum();
                end.next_multiple_of(self.alignment) + size
            }),
            Contents::Zeros(size) => *size,
        }
    }
}

impl Relocatable<'_> {
    /// Where in the file each section starts.
    pub(super) fn section_offsets(&self) -> Result<Vec<u64>> {
        let (_, ranges) = self.lay_out()?;
        Ok(ranges.into_iter().map(|range| range.offset).collect())
    }

    /// Everything that stands before the first piece, and where each section was put.
    fn lay_out(&self) -> Result<(Vec<u8>, Vec<Range>)> {
        let relocation_names: Vec<String> = self
            .sections
            .iter()
            .map(|section| format!(".rela{}", section.name))
            .collect();
        let mut front = StreamingBuffer::new(Vec::new());
        let ranges = self
            .write_front(&relocation_names, &mut front)
            .map_err(|error| Error::Usage(format!("cannot lay out the registration object: {error}")))?;
        Ok((front.into_inner(), ranges))
    }

    /// Writes the file. A piece that starts at the offset `present` is there already.
    pub(super) fn write(&self, output: &mut OutputFile, present: Option<u64>) -> Result<()> {
        let (front, ranges) = self.lay_out()?;
        output.write(&front)?;

        let mut written = front.len() as u64;
        for (section, range) in self.sections.iter().zip(&ranges) {
            let Contents::Pieces(items) = &section.contents else {
                continue;
            };
            output.write(&vec![0; (range.offset - written) as usize])?;
            written = range.offset;
            for pieces in items {
                let start = written.next_multiple_of(section.alignment);
                output.write(&vec![0; (start - written) as usize])?;
                written = start;
                for &piece in pieces {
                    match present == Some(written) {
                        true => output.skip(piece.size())?,
                        false => output.write_piece(piece)?,
                    }
                    written += piece.size();
                }
            }
        }
        Ok(())
    }

    /// Lays out the file and writes all of it that stands before the first piece.
    fn write_front<'b>(
        &'b self,
        relocation_names: &'b [String],
        buffer: &'b mut dyn WritableBuffer,
    ) -> object::write::Result<Vec<Range>> {
        let mut writer = Writer::new(Endianness::Little, true, buffer);
        let mut names = Vec::new();
        for (section, relocation_name) in self.sections.iter().zip(relocation_names) {
            let name = writer.add_section_name(section.name.as_bytes());
            let index = writer.reserve_section_index();
            let relocations = (!section.relocations.is_empty()).then(|| {
                let name = writer.add_section_name(relocation_name.as_bytes());
                writer.reserve_section_index();
                name
            });
            names.push((name, index, relocations));
        }
        let symbol_names: Vec<_> = self
            .symbols
            .iter()
            .map(|symbol| {
                writer.reserve_symbol_index(None);
                writer.add_string(symbol.name.as_bytes())
            })
            .collect();
        writer.reserve_symtab_section_index();
        writer.reserve_strtab_section_index();
        writer.reserve_shstrtab_section_index();

        writer.reserve_file_header();
        let mut ranges = vec![Range::default(); self.sections.len()];
        let mut relocation_offsets = Vec::new();
        for (section, range) in self.sections.iter().zip(&mut ranges) {
            range.size = section.size();
            if let Contents::Bytes(_) = section.contents {
                range.offset = writer.reserve(range.size, section.alignment);
            }
        }
        for section in &self.sections {
            relocation_offsets.push(writer.reserve_relocations(section.relocations.len(), true));
        }
        writer.reserve_symtab();
        writer.reserve_strtab()?;
        writer.reserve_shstrtab()?;
        writer.reserve_section_headers();
        let front_end = writer.reserved_len();
        for (section, range) in self.sections.iter().zip(&mut ranges) {
            if let Contents::Pieces(_) = section.contents {
                range.offset = writer.reserve(range.size, section.alignment);
            }
        }

        writer.write_file_header(&FileHeader {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_type: elf::ET_REL,
            e_machine: self.machine,
            e_entry: 0,
            e_flags: elf::FileFlags(0),
        })?;
        for (section, range) in self.sections.iter().zip(&ranges) {
            if let Contents::Bytes(bytes) = &section.contents {
                writer.pad_until(range.offset);
                writer.write(bytes);
            }
        }
        for section in &self.sections {
            writer.write_align_relocation();
            for relocation in &section.relocations {
                writer.write_relocation(
                    true,
                    &Rel {
                        r_offset: relocation.offset,
                        // The null symbol comes first.
                        r_sym: relocation.symbol as u32 + 1,
                        r_type: relocation.kind,
                        r_addend: relocation.addend,
                    },
                );
            }
        }
        writer.write_null_symbol();
        for (symbol, &name) in self.symbols.iter().zip(&symbol_names) {
            let (section, st_shndx, st_value) = match symbol.place {
                Place::Undefined => (None, elf::SHN_UNDEF, 0),
                Place::Absolute => (None, elf::SHN_ABS, 0),
                Place::Section(number, offset) => (Some(names[number].1.0), elf::SHN_UNDEF, offset),
            };
            writer.write_symbol(&Sym {
                section,
                st_name: writer.string_offset(Some(name)),
                st_info: elf::SymbolInfo::new(symbol.binding, symbol.kind),
                st_other: elf::SymbolOther::default().with_visibility(symbol.visibility),
                st_shndx,
                st_value,
                st_size: symbol.size,
            });
        }
        writer.write_strtab();
        writer.write_shstrtab();

        writer.write_null_section_header();
        let symtab = writer.symtab_index();
        for (position, section) in self.sections.iter().enumerate() {
            let (name, index, relocation_name) = names[position];
            writer.write_section_header(&SectionHeader {
                sh_name: writer.section_name_offset(Some(name)),
                sh_type: section.kind,
                sh_flags: section.flags,
                sh_addr: 0,
                sh_offset: ranges[position].offset,
                sh_size: ranges[position].size,
                sh_link: 0,
                sh_info: 0,
                sh_addralign: section.alignment,
                sh_entsize: section.entry_size,
            });
            if let Some(name) = relocation_name {
                let (offset, count) = (relocation_offsets[position], section.relocations.len());
                writer.write_relocation_section_header(name, index, symtab, offset, count, true);
            }
        }
        let local = self
            .symbols
            .iter()
            .filter(|symbol| symbol.binding == elf::STB_LOCAL)
            .count();
        writer.write_symtab_section_header(local as u32 + 1);
        writer.write_strtab_section_header();
        writer.write_shstrtab_section_header();
        debug_assert_eq!(writer.len(), front_end);
        Ok(ranges)
    }
}
