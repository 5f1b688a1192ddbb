//! Kernels as their 64 bytes say them: "Kernel Descriptor" of LLVM's AMDGPUUsage.

use super::elf::{DESCRIPTOR_SIZE, File, SymbolKind};
use super::{CodeObjectFault as Fault, Kernel, KernelMetadata};

/// What code begins at a multiple of.
const CODE_ALIGN: u64 = 256;
/// `ENABLE_WAVEFRONT_SIZE32` and `USES_DYNAMIC_STACK` of `kernel_code_properties`, and its bits without a
/// meaning.
const WAVEFRONT_32: u16 = 1 << 10;
const DYNAMIC_STACK: u16 = 1 << 11;
const PROPERTIES_RESERVED: u16 = 7 << 7 | 15 << 12;
/// Bits of `compute_pgm_rsrc1` and `compute_pgm_rsrc2` that the packet processor sets, or that have no
/// meaning: priority, privilege, debugging, bulky, `cdbg_user`, two bits; exceptions of addresses and memory,
/// group memory, one bit.
const RSRC1_ZERO: u32 = 3 << 10 | 1 << 20 | 1 << 22 | 1 << 24 | 1 << 25 | 3 << 27;
const RSRC2_ZERO: u32 = 1 << 13 | 1 << 14 | 0x1ff << 15 | 1 << 31;
/// Bits of `compute_pgm_rsrc3` that have a meaning on gfx90a and gfx940.
const RSRC3_GFX90A: u32 = 0x3f | 1 << 16;

/// Checks a kernel's descriptor and code against its metadata.
pub(super) fn check(file: &File<'_>, metadata: KernelMetadata) -> Result<Kernel, Fault> {
    match find_fault(file, &metadata) {
        Err(what) => Err(Fault::Kernel {
            kernel: metadata.name,
            what,
        }),
        Ok(descriptor) => Ok(Kernel { metadata, descriptor }),
    }
}

/// The address of a kernel's descriptor, or what is wrong with it.
fn find_fault(file: &File<'_>, metadata: &KernelMetadata) -> Result<u64, String> {
    let symbol = file
        .symbol(&metadata.symbol)
        .filter(|symbol| symbol.kind == SymbolKind::Descriptor);
    let symbol = symbol.ok_or_else(|| format!("there is no descriptor `{}`", metadata.symbol))?;
    let bytes = file
        .bytes_at(symbol.address, DESCRIPTOR_SIZE)
        .ok_or("its descriptor is not in the file")?;
    let word = |offset: usize| u32::from_le_bytes(array(bytes, offset));
    let reserved = [12..16, 24..44, 60..64];
    if reserved
        .into_iter()
        .any(|range| bytes[range].iter().any(|byte| *byte != 0))
    {
        return Err("reserved bytes of its descriptor are not zero".to_owned());
    }
    let sizes = [
        ("group_segment_fixed_size", word(0), metadata.group_size),
        ("private_segment_fixed_size", word(4), metadata.private_size),
        ("kernarg_size", word(8), metadata.kernarg_size),
    ];
    for (field, found, wanted) in sizes {
        if found != wanted {
            return Err(format!(
                "{field} is {found} in its descriptor and {wanted} in its metadata"
            ));
        }
    }
    check_code(
        file,
        metadata,
        symbol.address.wrapping_add(u64::from_le_bytes(array(bytes, 16))),
    )?;
    check_registers(file, word(48), word(52), word(44))?;
    check_properties(file, metadata, u16::from_le_bytes(array(bytes, 56)))?;
    let preloaded = u16::from_le_bytes(array(bytes, 58));
    if preloaded != 0 && !file.target.processor.is_like_gfx90a() {
        return Err(format!(
            "{} loads no arguments into registers",
            file.target.processor.name
        ));
    }
    Ok(symbol.address)
}

/// `N` bytes from an offset on, which lie in the descriptor.
fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    std::array::from_fn(|index| bytes[offset + index])
}

fn check_code(file: &File<'_>, metadata: &KernelMetadata, entry: u64) -> Result<(), String> {
    if !entry.is_multiple_of(CODE_ALIGN) || !file.is_code(entry) {
        return Err(format!("its code would begin at {entry:#x}, where no code can"));
    }
    let function = file
        .symbol(&metadata.name)
        .filter(|symbol| symbol.kind == SymbolKind::Function);
    match function {
        None => Err("there is no function of its name".to_owned()),
        Some(function) if function.address != entry => Err(format!(
            "its descriptor leads to {entry:#x}, its function lies at {:#x}",
            function.address
        )),
        Some(_) => Ok(()),
    }
}

fn check_registers(file: &File<'_>, rsrc1: u32, rsrc2: u32, rsrc3: u32) -> Result<(), String> {
    let processor = file.target.processor;
    let rsrc3_zero = match processor.generation() {
        ..10 if processor.is_like_gfx90a() => !RSRC3_GFX90A,
        ..10 => !0,
        // What later processors have there differs from one to the next.
        _ => 0,
    };
    let checks = [
        ("compute_pgm_rsrc1", rsrc1, RSRC1_ZERO),
        ("compute_pgm_rsrc2", rsrc2, RSRC2_ZERO),
        ("compute_pgm_rsrc3", rsrc3, rsrc3_zero),
    ];
    match checks.into_iter().find(|(_, value, zero)| value & zero != 0) {
        Some((field, value, zero)) => Err(format!(
            "{field} {value:#x} has bits {:#x}, which must be zero",
            value & zero
        )),
        None => Ok(()),
    }
}

fn check_properties(file: &File<'_>, metadata: &KernelMetadata, properties: u16) -> Result<(), String> {
    if properties & PROPERTIES_RESERVED != 0 {
        return Err(format!(
            "kernel_code_properties {properties:#x} has bits without a meaning"
        ));
    }
    let wavefront = if properties & WAVEFRONT_32 != 0 { 32 } else { 64 };
    // Before gfx10, no bit says it.
    if file.target.processor.generation() >= 10 && wavefront != metadata.wavefront_size {
        return Err(format!(
            "wavefronts have {wavefront} work-items in its descriptor and {} in its metadata",
            metadata.wavefront_size
        ));
    }
    if (properties & DYNAMIC_STACK != 0) != metadata.uses_dynamic_stack {
        return Err("descriptor and metadata differ in whether it uses a dynamic stack".to_owned());
    }
    Ok(())
}
