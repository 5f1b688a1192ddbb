//! The kernels of a device image: by the mark that each kind of GPU code has for them, and by OpenMP's names
//! for target regions.

use std::collections::BTreeSet;

use object::elf::{EM_AMDGPU, EM_CUDA, FileHeader64, Machine};
use object::read::elf::FileHeader as _;
use object::{Endianness, Object, ObjectSymbol, SymbolFlags, SymbolKind};
use offloom_abi::kernel_name::KernelName;

/// The end of the name of an AMD GPU kernel's descriptor, by which the runtime finds it ("Code Object V3
/// Symbols" of LLVM's "User Guide for AMDGPU Backend").
const DESCRIPTOR_SUFFIX: &str = ".kd";

/// In `st_other` of a cubin's functions: it can be launched (`STO_CUDA_ENTRY`, as `readelf` of CUDA and
/// LLVM's cubins show it).
const CUDA_ENTRY: u8 = 0x10;

/// The names of the kernels in an ELF file.
pub(super) fn kernels(file: &object::File<'_>, image: &[u8]) -> BTreeSet<String> {
    let machine = machine(image);
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let defined = symbols.filter(ObjectSymbol::is_definition);
    let kernels = defined.filter_map(|symbol| {
        let name = symbol.name().ok()?;
        let is_function = symbol.kind() == SymbolKind::Text;
        match machine {
            Some(EM_AMDGPU) => name.strip_suffix(DESCRIPTOR_SUFFIX),
            Some(EM_CUDA) => (is_function && is_cuda_entry(&symbol)).then_some(name),
            _ => (is_function && KernelName::parse(name).is_some()).then_some(name),
        }
    });
    kernels.map(str::to_owned).collect()
}

fn machine(image: &[u8]) -> Option<Machine> {
    let header = FileHeader64::<Endianness>::parse(image).ok()?;
    Some(header.e_machine(header.endian().ok()?))
}

fn is_cuda_entry<'a>(symbol: &impl ObjectSymbol<'a>) -> bool {
    match symbol.flags() {
        SymbolFlags::Elf { st_other, .. } => st_other.0 & CUDA_ENTRY != 0,
        _ => false,
    }
}
