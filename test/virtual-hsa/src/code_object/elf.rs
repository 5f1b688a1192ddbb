//! Header, segments, symbols, relocations and notes of a code object.

use std::ops::Range;

use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader, Sym};

use super::CodeObjectFault as Fault;
use crate::isa::{KNOWN_FLAGS, TargetId};

type Header = elf::FileHeader64<LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

/// `ELFOSABI_AMDGPU_HSA`.
const OS_ABI: u8 = 64;
/// Versions 4, 5 and 6 of code objects, as `EI_ABIVERSION` says them.
const ABI_VERSIONS: Range<u8> = 2..5;
/// The one of them that says a generic processor's version in the highest byte of `e_flags`.
const ABI_VERSION_6: u8 = 4;
/// `NT_AMDGPU_METADATA`.
const METADATA_NOTE: u32 = 32;
/// `R_AMDGPU_ABS64` and `R_AMDGPU_RELATIVE64`, the two kinds of relocations that LLVM's linker leaves.
const ABS64: u32 = 3;
const RELATIVE64: u32 = 13;
/// Bytes of a descriptor, and what its address is a multiple of.
pub(super) const DESCRIPTOR_SIZE: u64 = 64;
/// The most that an image may take in memory: a size beyond is a wrong number.
const MOST_MEMORY: u64 = 4 << 30;

/// What is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) address: u64,
    /// Bytes in memory.
    pub(crate) size: u64,
    /// Where its first bytes are in the file.
    pub(crate) file: Range<usize>,
    pub(crate) is_executable: bool,
    pub(crate) is_writable: bool,
}

impl Segment {
    /// The address behind it. Sizes were checked.
    pub(crate) fn end(&self) -> u64 {
        self.address + self.size
    }

    /// Whether `size` bytes from an address on lie in it.
    fn holds(&self, address: u64, size: u64) -> bool {
        address >= self.address && address.checked_add(size).is_some_and(|end| end <= self.end())
    }
}

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    Variable,
    Function,
    /// A kernel's descriptor.
    Descriptor,
    /// Something of another image.
    Undefined,
}

/// A symbol of the dynamic symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) kind: SymbolKind,
    pub(crate) is_constant: bool,
}

/// A number that the loader writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relocation {
    pub(crate) address: u64,
    /// Index of the symbol whose address is added. `None`: the image's address is.
    pub(crate) symbol: Option<usize>,
    pub(crate) addend: i64,
}

/// A code object's file, and what was found in it.
#[derive(Debug)]
pub(super) struct File<'data> {
    bytes: &'data [u8],
    /// `EI_ABIVERSION`.
    pub(super) version: u8,
    pub(super) target: TargetId,
    pub(super) segments: Vec<Segment>,
    pub(super) symbols: Vec<Symbol>,
    pub(super) relocations: Vec<Relocation>,
    /// The metadata.
    pub(super) note: &'data [u8],
}

impl From<object::read::Error> for Fault {
    fn from(error: object::read::Error) -> Self {
        Self::NotElf(error.to_string())
    }
}

impl<'data> File<'data> {
    /// Reads and checks a file.
    pub(super) fn parse(bytes: &'data [u8]) -> Result<Self, Fault> {
        let header = Header::parse(bytes)?;
        let (version, target) = check_header(header)?;
        let programs = header.program_headers(ENDIAN, bytes)?;
        let segments = segments(programs, bytes)?;
        let note = metadata_note(programs, bytes)?;
        let (symbols, relocations) = dynamic_symbols(header, bytes, &segments)?;
        Ok(Self {
            bytes,
            version,
            target,
            segments,
            symbols,
            relocations,
            note,
        })
    }

    /// `size` bytes of the file that are loaded to an address.
    pub(super) fn bytes_at(&self, address: u64, size: u64) -> Option<&'data [u8]> {
        let segment = self
            .segments
            .iter()
            .find(|segment| segment.holds(address, size))?;
        let offset = usize::try_from(address - segment.address).ok()?;
        let start = segment.file.start.checked_add(offset)?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        (end <= segment.file.end)
            .then(|| self.bytes.get(start..end))
            .flatten()
    }

    /// Whether code may begin at an address.
    pub(super) fn is_code(&self, address: u64) -> bool {
        self.segments
            .iter()
            .any(|segment| segment.is_executable && segment.holds(address, 4))
    }

    /// The symbol of a name.
    pub(super) fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| symbol.name == name)
    }
}

fn check_header(header: &Header) -> Result<(u8, TargetId), Fault> {
    let ident = header.e_ident();
    let version = ident.abi_version;
    let machine = header.e_machine(ENDIAN);
    let kind = header.e_type(ENDIAN);
    let checks = [
        (
            "data encoding",
            u64::from(ident.data.0),
            ident.data == elf::ELFDATA2LSB,
            "1 (little endian)",
        ),
        (
            "OS ABI",
            u64::from(ident.os_abi.0),
            ident.os_abi.0 == OS_ABI,
            "64 (AMDGPU HSA)",
        ),
        (
            "ABI version",
            u64::from(version),
            ABI_VERSIONS.contains(&version),
            "2, 3 or 4 (code object version 4, 5 or 6)",
        ),
        (
            "machine",
            u64::from(machine.0),
            machine == elf::EM_AMDGPU,
            "224 (AMDGPU)",
        ),
        (
            "type",
            u64::from(kind.0),
            kind == elf::ET_DYN,
            "3 (shared object)",
        ),
    ];
    for (field, found, is_right, wanted) in checks {
        if !is_right {
            return Err(Fault::Header { field, found, wanted });
        }
    }
    let flags = header.e_flags(ENDIAN).0;
    let known = if version == ABI_VERSION_6 {
        KNOWN_FLAGS | 0xff00_0000
    } else {
        KNOWN_FLAGS
    };
    if flags & !known != 0 {
        return Err(Fault::UnknownFlags(flags));
    }
    let target = TargetId::of_flags(flags).ok_or(Fault::UnknownProcessor(flags))?;
    if !target.is_possible() {
        return Err(Fault::ImpossibleFeatures(target.to_string()));
    }
    Ok((version, target))
}

fn segments(programs: &[elf::ProgramHeader64<LittleEndian>], bytes: &[u8]) -> Result<Vec<Segment>, Fault> {
    let mut segments: Vec<Segment> = Vec::new();
    for (index, program) in programs.iter().enumerate() {
        if program.p_type(ENDIAN) != elf::PT_LOAD {
            continue;
        }
        let wrong = |what| Fault::Segment { index, what };
        let (address, size) = (program.p_vaddr(ENDIAN), program.p_memsz(ENDIAN));
        let (offset, in_file) = (program.p_offset(ENDIAN), program.p_filesz(ENDIAN));
        let align = program.p_align(ENDIAN);
        let end = offset
            .checked_add(in_file)
            .filter(|end| *end <= bytes.len() as u64);
        let end = end.ok_or_else(|| wrong("it goes beyond the end of the file"))?;
        if in_file > size {
            return Err(wrong("it has more bytes in the file than in memory"));
        }
        if address.checked_add(size).is_none_or(|end| end > MOST_MEMORY) {
            return Err(wrong("it goes beyond the first 4 GiB of the image"));
        }
        if align > 1 && (!align.is_power_of_two() || address % align != offset % align) {
            return Err(wrong(
                "its address and its place in the file do not have its alignment in common",
            ));
        }
        if segments.last().is_some_and(|last| last.end() > address) {
            return Err(wrong("it begins before the end of the one before"));
        }
        segments.push(Segment {
            address,
            size,
            // Both are at most the file's length.
            file: offset as usize..end as usize,
            is_executable: program.p_flags(ENDIAN).0 & elf::PF_X.0 != 0,
            is_writable: program.p_flags(ENDIAN).0 & elf::PF_W.0 != 0,
        });
    }
    Ok(segments)
}

/// The one note of AMD's.
fn metadata_note<'data>(
    programs: &[elf::ProgramHeader64<LittleEndian>],
    bytes: &'data [u8],
) -> Result<&'data [u8], Fault> {
    let mut found = Vec::new();
    for program in programs {
        let Some(mut notes) = program.notes(ENDIAN, bytes)? else {
            continue;
        };
        while let Some(note) = notes.next()? {
            if note.name() == b"AMDGPU" && note.n_type(ENDIAN).0 == METADATA_NOTE {
                found.push(note.desc());
            }
        }
    }
    match found[..] {
        [note] => Ok(note),
        _ => Err(Fault::Notes(found.len())),
    }
}

fn dynamic_symbols(
    header: &Header,
    bytes: &[u8],
    segments: &[Segment],
) -> Result<(Vec<Symbol>, Vec<Relocation>), Fault> {
    let sections = header.sections(ENDIAN, bytes)?;
    let table = sections.symbols(ENDIAN, bytes, elf::SHT_DYNSYM)?;
    let mut symbols = Vec::new();
    for symbol in table.iter() {
        let name = String::from_utf8_lossy(symbol.name(ENDIAN, table.strings())?).into_owned();
        symbols.push(check_symbol(name, symbol, segments)?);
    }
    let mut relocations = Vec::new();
    for section in sections.iter() {
        // Relocations of sections that are not loaded are not the loader's.
        if section.sh_flags(ENDIAN).0 & elf::SHF_ALLOC.0 == 0 {
            continue;
        }
        let Some((entries, _)) = section.rela(ENDIAN, bytes)? else {
            continue;
        };
        for entry in entries {
            let relocation = check_relocation(relocations.len(), entry, symbols.len(), segments)?;
            relocations.push(relocation);
        }
    }
    Ok((symbols, relocations))
}

fn check_symbol(
    name: String,
    symbol: &elf::Sym64<LittleEndian>,
    segments: &[Segment],
) -> Result<Symbol, Fault> {
    let (address, size) = (symbol.st_value(ENDIAN), symbol.st_size(ENDIAN));
    let is_undefined = symbol.st_shndx(ENDIAN) == elf::SHN_UNDEF;
    let kind = match symbol.st_type() {
        _ if is_undefined => SymbolKind::Undefined,
        elf::STT_FUNC => SymbolKind::Function,
        elf::STT_OBJECT if name.ends_with(".kd") => SymbolKind::Descriptor,
        _ => SymbolKind::Variable,
    };
    let segment = segments.iter().find(|segment| segment.holds(address, size));
    let wrong = |name: &str, what| {
        Err(Fault::Symbol {
            symbol: name.to_owned(),
            what,
        })
    };
    match kind {
        SymbolKind::Undefined => {}
        _ if segment.is_none() => return wrong(&name, "it lies in no segment that is loaded"),
        SymbolKind::Descriptor if size != DESCRIPTOR_SIZE => {
            return wrong(&name, "a kernel's descriptor has 64 bytes");
        }
        SymbolKind::Descriptor if address % DESCRIPTOR_SIZE != 0 => {
            return wrong(&name, "a kernel's descriptor lies at a multiple of 64 bytes");
        }
        SymbolKind::Function if !segment.is_some_and(|segment| segment.is_executable) => {
            return wrong(&name, "a function lies in a segment that can be executed");
        }
        _ => {}
    }
    Ok(Symbol {
        name,
        address,
        size,
        kind,
        is_constant: segment.is_some_and(|segment| !segment.is_writable),
    })
}

fn check_relocation(
    index: usize,
    entry: &elf::Rela64<LittleEndian>,
    symbols: usize,
    segments: &[Segment],
) -> Result<Relocation, Fault> {
    let (kind, address) = (entry.r_type(ENDIAN, false).0, entry.r_offset(ENDIAN));
    let symbol = match kind {
        RELATIVE64 => None,
        ABS64 => {
            let symbol = entry.r_sym(ENDIAN, false) as usize;
            if symbol >= symbols {
                return Err(Fault::NotElf(format!(
                    "relocation {index} names symbol {symbol} of {symbols}"
                )));
            }
            Some(symbol)
        }
        _ => return Err(Fault::RelocationType { index, kind }),
    };
    if !segments.iter().any(|segment| segment.holds(address, 8)) {
        return Err(Fault::RelocationPlace { index, address });
    }
    Ok(Relocation {
        address,
        symbol,
        addend: entry.r_addend(ENDIAN),
    })
}
