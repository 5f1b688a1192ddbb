//! What a cubin says of its kernels and variables.
//!
//! Kernels and variables are symbols of an ELF file; `st_other` tells kernels from functions, the section the
//! memory of a variable. What a kernel needs is in the records of `.nv.info` (about all functions) and
//! `.nv.info.KERNEL`, and in the size of `.nv.shared.KERNEL`.

mod records;

use std::collections::HashMap;

use object::read::elf::{FileHeader as _, SectionHeader as _, Sym as _};
use object::{LittleEndian, elf};
use thiserror::Error;

use crate::tree::{Linkage, Module, StateSpace, SymbolKind};

/// The type of symbols that are variables, in files that are not linked.
const STT_CUDA_OBJECT: elf::SymbolType = elf::SymbolType(13);

/// The bit of `st_other` that kernels have and functions have not.
const STO_CUDA_ENTRY: u8 = 0x10;

/// The first version of the ABI with the processor's number one byte further up in `e_flags`.
const ABI_OF_WIDE_FLAGS: u8 = 8;

/// Why a file is not a cubin that can be read.
#[derive(Clone, Debug, Error)]
pub enum CubinError {
    /// Damaged headers.
    #[error("its ELF structure is damaged: {0}")]
    Elf(#[from] object::read::Error),
    /// ELF for something else.
    #[error("its ELF machine is {0}, not that of NVIDIA's GPUs, 190")]
    OtherMachine(u16),
    /// A section of records ends inside one.
    #[error("its section `{0}` is damaged")]
    Records(String),
}

/// How a cubin and the PTX that it carries differ.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum Mismatch {
    /// Not in the PTX.
    #[error(
        "`{0}` is in the cubin, but not in the PTX that it carries; build all of the program with the tests' CUDA folder"
    )]
    Missing(String),
    /// Another size.
    #[error(
        "`{name}` has {cubin} bytes in the cubin, but {ptx} in the PTX that it carries; build the program again"
    )]
    Size {
        /// The variable, or the kernel, whose parameters are meant.
        name: String,
        /// Bytes in the cubin.
        cubin: u64,
        /// Bytes in the PTX.
        ptx: u64,
    },
}

/// What a cubin says of itself.
#[derive(Clone, Debug, Default)]
pub struct Cubin {
    /// The compute capability: 80 for `sm_80`.
    pub processor: u32,
    /// Kernels, in the order of symbols.
    pub kernels: Vec<CubinKernel>,
    /// Variables, in the order of symbols.
    pub variables: Vec<CubinVariable>,
}

/// What a kernel needs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CubinKernel {
    /// The name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of the kernel's own stack frame, in the local memory of each thread.
    pub frame_bytes: u32,
    /// Bytes of stack that a thread needs with all functions that are called directly. Linked cubins say it.
    pub min_stack_bytes: Option<u32>,
    /// Bytes of static shared memory of a block.
    pub shared_bytes: u64,
    /// Bytes of all parameters.
    pub parameter_bytes: u32,
    /// `.maxntid`: threads of a block in x, y, z. Their product is the limit.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the only shape of a block.
    pub required_threads: Option<[u32; 3]>,
}

/// A variable.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CubinVariable {
    /// The name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Its memory: global, constant or shared.
    pub space: StateSpace,
    /// Whether the name is of its file alone.
    pub is_internal: bool,
}

/// Reads a cubin.
///
/// # Errors
///
/// A file that is no ELF file for NVIDIA's GPUs, or a damaged one.
pub fn read(cubin: &[u8]) -> Result<Cubin, CubinError> {
    let endian = LittleEndian;
    let header = elf::FileHeader64::<LittleEndian>::parse(cubin)?;
    if header.e_machine(endian) != elf::EM_CUDA {
        return Err(CubinError::OtherMachine(header.e_machine(endian).0));
    }
    let flags = header.e_flags(endian).0;
    let is_wide = header.e_ident().abi_version >= ABI_OF_WIDE_FLAGS;
    let sections = header.sections(endian, cubin)?;
    let mut by_name = HashMap::new();
    for section in sections.iter() {
        by_name.insert(sections.section_name(endian, section)?, section);
    }
    let records = |name: &str| match by_name.get(name.as_bytes()) {
        Some(section) => {
            records::read(section.data(endian, cubin)?).ok_or_else(|| CubinError::Records(name.to_owned()))
        }
        None => Ok(Vec::new()),
    };

    let functions = records::of_functions(&records(".nv.info")?);
    let symbols = sections.symbols(endian, cubin, elf::SHT_SYMTAB)?;
    let mut result = Cubin {
        processor: (if is_wide { flags >> 8 } else { flags }) & 0xff,
        ..Cubin::default()
    };
    for (index, symbol) in symbols.enumerate() {
        if symbol.is_undefined(endian) {
            continue;
        }
        let name = String::from_utf8_lossy(symbols.symbol_name(endian, symbol)?).into_owned();
        if symbol.st_type() == elf::STT_FUNC && symbol.st_other().0 & STO_CUDA_ENTRY != 0 {
            let index = u32::try_from(index.0).unwrap_or(u32::MAX);
            let mut kernel = functions.get(&index).cloned().unwrap_or_default();
            records::add_to_kernel(&mut kernel, &records(&format!(".nv.info.{name}"))?);
            let shared = by_name.get(format!(".nv.shared.{name}").as_bytes());
            kernel.shared_bytes = shared.map_or(0, |section| section.sh_size(endian));
            kernel.name = name;
            result.kernels.push(kernel);
            continue;
        }
        if !matches!(symbol.st_type(), elf::STT_OBJECT | STT_CUDA_OBJECT) {
            continue;
        }
        let Some(section) = symbols.symbol_section(endian, symbol, index)? else {
            continue;
        };
        let Some(space) = space(sections.section_name(endian, sections.section(section)?)?) else {
            continue;
        };
        result.variables.push(CubinVariable {
            name,
            size: symbol.st_size(endian),
            space,
            is_internal: symbol.st_bind() == elf::STB_LOCAL,
        });
    }
    Ok(result)
}

/// The memory of the variables in a section. Blocks of parameters, and what the assembler itself keeps, are
/// in other sections.
fn space(section: &[u8]) -> Option<StateSpace> {
    match section {
        b".nv.global" | b".nv.global.init" => Some(StateSpace::Global),
        b".nv.constant3" => Some(StateSpace::Const),
        _ => section.starts_with(b".nv.shared").then_some(StateSpace::Shared),
    }
}

/// Whether the linked PTX is that of the cubin: it has all its kernels and all variables that other files
/// see, with the same sizes.
///
/// # Errors
///
/// The first difference.
pub fn compare(cubin: &Cubin, ptx: &Module) -> Result<(), Mismatch> {
    let symbols = ptx
        .symbols
        .iter()
        .filter(|symbol| symbol.linkage != Linkage::Internal);
    let in_ptx: HashMap<&str, u64> = symbols
        .filter_map(|symbol| {
            let size = match &symbol.kind {
                SymbolKind::Variable(variable) => variable.size,
                SymbolKind::Function(function) if function.is_entry => function.parameter_bytes(),
                _ => return None,
            };
            Some((symbol.name.as_str(), size))
        })
        .collect();
    let kernels = cubin.kernels.iter();
    let kernels = kernels.map(|kernel| (&kernel.name, u64::from(kernel.parameter_bytes)));
    let variables = cubin.variables.iter().filter(|variable| !variable.is_internal);
    for (name, size) in kernels.chain(variables.map(|variable| (&variable.name, variable.size))) {
        match in_ptx.get(name.as_str()) {
            None => return Err(Mismatch::Missing(name.clone())),
            Some(&ptx) if ptx != size => {
                return Err(Mismatch::Size {
                    name: name.clone(),
                    cubin: size,
                    ptx,
                });
            }
            Some(_) => {}
        }
    }
    Ok(())
}
