//! The file that a copy of a device image was loaded from, and where its variables are in memory.

use std::ffi::{CStr, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use object::elf::{FileHeader64, PT_GNU_RELRO, PT_LOAD, SHF_ALLOC, SHF_TLS, SHF_WRITE};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget};
use offloom_jit_cache::dump::Run;

/// A device image in memory.
pub(crate) struct ImageFile {
    /// Where it is.
    pub(crate) extent: Run,
    /// Its variables, thread-local ones aside, less the words that hold addresses in libraries.
    pub(crate) variables: Vec<Run>,
    /// The file.
    pub(crate) bytes: Vec<u8>,
}

impl ImageFile {
    /// The image that an address lies in.
    ///
    /// # Errors
    /// What is wrong with its file, which may be gone.
    pub(crate) fn of_address(address: usize) -> Result<Self, String> {
        // SAFETY: the record is filled by the call; its strings live as long as the image, which was loaded
        // when this was called.
        let (base, path) = unsafe {
            let mut info = std::mem::zeroed::<libc::Dl_info>();
            if libc::dladdr(address as *const libc::c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
                return Err("the loader does not know it".to_owned());
            }
            let path = CStr::from_ptr(info.dli_fname);
            (
                info.dli_fbase as u64,
                Path::new(OsStr::from_bytes(path.to_bytes())),
            )
        };
        let bytes = fs::read(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
        let (length, variables) =
            layout(&bytes, base).map_err(|error| format!("`{}`: {error}", path.display()))?;
        Ok(Self {
            extent: Run { start: base, length },
            variables,
            bytes,
        })
    }
}

/// Bytes that the image takes in memory, and its variables when it is loaded at `base`.
fn layout(bytes: &[u8], base: u64) -> object::Result<(u64, Vec<Run>)> {
    let file = ElfFile64::<Endianness>::parse(bytes)?;
    let endian = file.endian();
    let headers = FileHeader64::<Endianness>::parse(bytes)?.program_headers(endian, bytes)?;
    let loaded = headers.iter().filter(|header| header.p_type(endian) == PT_LOAD);
    let ends = loaded.map(|header| header.p_vaddr(endian).saturating_add(header.p_memsz(endian)));
    let length = ends.max().unwrap_or(0);
    // What only the loader writes.
    let relro = headers
        .iter()
        .find(|header| header.p_type(endian) == PT_GNU_RELRO)
        .map_or(0..0, |header| {
            header.p_vaddr(endian)..header.p_vaddr(endian).saturating_add(header.p_memsz(endian))
        });

    // Words that the loader fills in with what other files define.
    let symbols = file.dynamic_symbol_table();
    let is_foreign = |target| match target {
        RelocationTarget::Symbol(index) => symbols
            .as_ref()
            .and_then(|symbols| symbols.symbol_by_index(index).ok())
            .is_none_or(|symbol| symbol.is_undefined()),
        _ => false,
    };
    let relocations = file.dynamic_relocations().into_iter().flatten();
    let mut foreign: Vec<u64> = relocations
        .filter(|(_, relocation)| is_foreign(relocation.target()))
        .map(|(offset, _)| offset)
        .collect();
    foreign.sort_unstable();

    let mut variables = Vec::new();
    for section in file.sections() {
        let flags = section.elf_section_header().sh_flags(endian);
        let wanted = SHF_ALLOC | SHF_WRITE;
        let of_the_loader = relro.contains(&section.address()) || section.name()?.starts_with(".got");
        if flags & (wanted | SHF_TLS) != wanted || of_the_loader {
            continue;
        }
        let extent = section.address()..section.address().saturating_add(section.size());
        let mut start = extent.start;
        let mut add = |start: u64, end: u64| {
            if start < end {
                variables.push(Run {
                    start: base + start,
                    length: end - start,
                });
            }
        };
        for word in foreign.iter().filter(|word| extent.contains(*word)) {
            add(start, *word);
            start = word + 8;
        }
        add(start, extent.end);
    }
    variables.sort_unstable_by_key(|run| run.start);
    Ok((length, variables))
}
