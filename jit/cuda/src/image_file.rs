//! Device images as files: which threads execute their kernels, and what a dumped launch needs of them.

use std::collections::BTreeMap;
use std::ffi::c_void;

use object::elf::{ELFMAG, FileHeader64, ProgramHeader64, SectionHeader64};
use object::read::elf::{ElfFile64, FileHeader};
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolIndex, SymbolKind, pod,
};
use offloom_abi::jit_bundle::{BundleId, ExecutionMode};
use offloom_abi::jit_device_image::{
    DeviceImage, HEADER_SIZE, IMAGE_SYMBOL, execution_mode_in, kernel_environment,
};

type Header = FileHeader64<LittleEndian>;

/// The bytes of an image that the driver was given. `None`: it is no ELF file with section headers.
///
/// # Safety
/// `image` points to an image that the driver has loaded, which stays there as long as the bytes are used.
pub(crate) unsafe fn bytes_of<'a>(image: *const c_void) -> Option<&'a [u8]> {
    // SAFETY: of a file of any kind there are at least so many bytes, and a file is as long as its headers
    // say, by which the driver goes too.
    unsafe {
        let bytes = |length| std::slice::from_raw_parts::<'a>(image.cast::<u8>(), length);
        if image.is_null() || bytes(ELFMAG.len()) != ELFMAG {
            return None;
        }
        let (header, _) = pod::from_bytes::<Header>(bytes(size_of::<Header>())).ok()?;
        let tables = end_of_tables(header)?;
        let end = end_of_sections(header, bytes(tables))?;
        Some(bytes(end.max(tables)))
    }
}

/// Where the tables of program and section headers end.
fn end_of_tables(header: &Header) -> Option<usize> {
    let end = |start: u64, count: u16, size: usize| {
        let size = u64::from(count).checked_mul(size as u64)?;
        start.checked_add(size).and_then(|end| usize::try_from(end).ok())
    };
    let endian = LittleEndian;
    let programs = end(
        header.e_phoff.get(endian),
        header.e_phnum.get(endian),
        size_of::<ProgramHeader64<LittleEndian>>(),
    )?;
    let sections = end(
        header.e_shoff.get(endian),
        header.e_shnum.get(endian),
        size_of::<SectionHeader64<LittleEndian>>(),
    )?;
    Some(programs.max(sections).max(size_of::<Header>()))
}

/// Where the last section ends that is in the file. `bytes` reach to the end of the tables.
fn end_of_sections(header: &Header, bytes: &[u8]) -> Option<usize> {
    let sections = header.section_headers(LittleEndian, bytes).ok()?;
    let ends = sections.iter().filter_map(|section| {
        let (start, size) = object::read::elf::SectionHeader::file_range(section, LittleEndian)?;
        start.checked_add(size)
    });
    usize::try_from(ends.max().unwrap_or(0)).ok()
}

/// A device image for a GPU, as a file: what its variables hold before anybody has written to them.
#[derive(Debug)]
pub struct ImageFile<'a> {
    file: object::File<'a>,
    variables: BTreeMap<&'a str, SymbolIndex>,
}

impl<'a> ImageFile<'a> {
    /// Reads the symbols of an image.
    ///
    /// # Errors
    /// One line: it is no object file, or damaged.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let damaged = |error: object::Error| format!("a device image of it is damaged: {error}");
        let file = object::File::parse(bytes).map_err(damaged)?;
        let symbols = file.symbols();
        let variables = symbols.filter_map(|symbol| Some((symbol.name().ok()?, symbol.index())));
        let variables = variables.collect();
        Ok(Self { file, variables })
    }

    fn variable(&self, name: &str) -> Option<&'a [u8]> {
        let symbol = self.file.symbol_by_index(*self.variables.get(name)?).ok()?;
        let section = self.file.section_by_index(symbol.section_index()?).ok()?;
        let start = usize::try_from(symbol.address().checked_sub(section.address())?).ok()?;
        let end = start.checked_add(usize::try_from(symbol.size()).ok()?)?;
        section.data().ok()?.get(start..end)
    }

    /// The bundle that it was linked with; none: there is nothing for the JIT.
    ///
    /// # Errors
    /// One line: what it says of itself is damaged.
    pub fn bundle(&self) -> Result<Option<BundleId>, String> {
        let Some(bytes) = self.variable(IMAGE_SYMBOL) else {
            return Ok(None);
        };
        let image = DeviceImage::parse(bytes).map_err(|error| error.to_string())?;
        Ok(Some(image.bundle))
    }

    /// Which threads execute a kernel. `None`: it has no such kernel, or one whose mode is not known.
    pub fn execution_mode(&self, kernel: &str) -> Option<ExecutionMode> {
        execution_mode_in(self.variable(&kernel_environment(kernel))?)
    }
}

/// The bytes of what each of `count` anchors is the address of, to its end; 0: it is no variable. `None`: the
/// image has not so many.
pub(crate) fn anchor_sizes(image: &[u8], count: usize) -> Option<Vec<u64>> {
    let file = ElfFile64::<LittleEndian>::parse(image).ok()?;
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(IMAGE_SYMBOL))?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let addresses = symbol.address().checked_sub(section.address())?;
    let addresses = addresses.checked_add(HEADER_SIZE as u64)?;
    let mut sizes = vec![0; count];
    if symbol.size() != (HEADER_SIZE + count * size_of::<u64>()) as u64 {
        return None;
    }
    for (offset, relocation) in section.relocations() {
        let index = offset.checked_sub(addresses).map(|offset| offset / 8);
        let size = index.and_then(|index| sizes.get_mut(usize::try_from(index).ok()?));
        let (Some(size), RelocationTarget::Symbol(target)) = (size, relocation.target()) else {
            continue;
        };
        let target = file.symbol_by_index(target).ok()?;
        if target.kind() == SymbolKind::Data {
            *size = target.size();
        }
    }
    Some(sizes)
}

/// By these variables kernels ask the process for services, as LLVM's C library for GPUs does (LLVM 19, and
/// later ones).
const SERVICES: [&str; 2] = ["__llvm_libc_rpc_client", "__llvm_rpc_client"];

/// Whether code of the image asks the process that has loaded it for services. Device runtimes have the
/// variable without using it.
pub(crate) fn asks_for_services(image: &[u8]) -> bool {
    let Ok(file) = ElfFile64::<LittleEndian>::parse(image) else {
        return false;
    };
    let mut targets = file
        .sections()
        .flat_map(|section| section.relocations())
        .map(|(_, relocation)| relocation.target());
    targets.any(|target| match target {
        RelocationTarget::Symbol(index) => file
            .symbol_by_index(index)
            .and_then(|symbol| symbol.name())
            .is_ok_and(|name| SERVICES.contains(&name)),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::write::{Object as File, Relocation, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SymbolFlags, SymbolScope};

    /// An image with a variable of 24 bytes, a function, and a table of anchors to both and to nothing; and
    /// with a variable for services that nothing uses, unless that is asked for.
    fn image(uses_services: bool) -> Vec<u8> {
        let mut file = File::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let data = file.add_section(Vec::new(), b".nv.global.init".to_vec(), object::SectionKind::Data);
        let mut add = |name: &str, value, size, kind| {
            file.add_symbol(Symbol {
                name: name.as_bytes().to_vec(),
                value,
                size,
                kind,
                scope: SymbolScope::Linkage,
                weak: false,
                section: SymbolSection::Section(data),
                flags: SymbolFlags::None,
            })
        };
        let table = HEADER_SIZE as u64 + 24;
        add(IMAGE_SYMBOL, 8, table, SymbolKind::Data);
        let variable = add("variable", 8 + table, 24, SymbolKind::Data);
        let function = add("function", 0, 8, SymbolKind::Text);
        let services = add("__llvm_rpc_client", 0, 8, SymbolKind::Data);
        file.append_section_data(data, &vec![0; 8 + table as usize + 24], 8);
        let used = uses_services.then_some((2, services));
        for (index, symbol) in [(0, variable), (1, function)].into_iter().chain(used) {
            let offset = 8 + (HEADER_SIZE + 8 * index) as u64;
            let flags = RelocationFlags::Elf {
                r_type: object::elf::R_X86_64_64,
            };
            let relocation = Relocation {
                offset,
                symbol,
                addend: 0,
                flags,
            };
            file.add_relocation(data, relocation).unwrap();
        }
        file.write().unwrap()
    }

    #[test]
    fn an_image_is_as_long_as_its_headers_say() {
        let image = image(false);
        let mut behind = image.clone();
        behind.extend([7; 100]);
        // SAFETY: the headers are right.
        let copy = unsafe { bytes_of(behind.as_ptr().cast()) }.unwrap();
        assert_eq!(copy, image);
        // SAFETY: it is looked at as far as it goes.
        assert!(unsafe { bytes_of(b"//PTX".as_ptr().cast()) }.is_none());
    }

    #[test]
    fn anchors_are_as_long_as_the_variables_that_they_lead_to() {
        let image = image(false);
        assert_eq!(anchor_sizes(&image, 3).unwrap(), [24, 0, 0]);
        assert!(anchor_sizes(&image, 2).is_none());
        assert!(anchor_sizes(&image[..image.len() / 2], 3).is_none());
        assert!(anchor_sizes(b"", 0).is_none());
    }

    #[test]
    fn services_are_asked_for_by_who_refers_to_them() {
        assert!(!asks_for_services(&image(false)));
        assert!(asks_for_services(&image(true)));
        assert!(!asks_for_services(b""));
    }
}
