//! What an image for a device holds, and what may be wrong with it: versions 4, 5 and 6 of AMD's code
//! objects. Source: "ELF Code Object" and "Code Object Metadata" of LLVM's AMDGPUUsage.
//!
//! | module | job |
//! | --- | --- |
//! | [`elf`] | header, segments, symbols, relocations, notes |
//! | [`metadata`] | kernels as the note says them |
//! | [`descriptor`] | kernels as their 64 bytes say them |
//! | [`fault`] | all that may be wrong |

mod descriptor;
mod elf;
mod fault;
mod metadata;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use elf::{Relocation, Segment, Symbol, SymbolKind};
pub(crate) use fault::CodeObjectFault;
pub(crate) use metadata::{KernelMetadata, SizeKind};

use crate::isa::TargetId;

/// A kernel whose metadata, descriptor and code fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub(crate) metadata: KernelMetadata,
    /// Address of the descriptor in the image.
    pub(crate) descriptor: u64,
}

/// A code object that was checked.
#[derive(Debug)]
pub(crate) struct CodeObject {
    pub(crate) bytes: Vec<u8>,
    pub(crate) target: TargetId,
    pub(crate) segments: Vec<Segment>,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) relocations: Vec<Relocation>,
    pub(crate) kernels: Vec<Kernel>,
    /// The bytes' BLAKE3 hash, its first 16 hexadecimal digits.
    pub(crate) hash: String,
}

impl CodeObject {
    /// Checks a code object.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, CodeObjectFault> {
        let file = elf::File::parse(bytes)?;
        let kernels = metadata::parse(file.note, file.version, &file.target)?;
        let kernels = kernels
            .into_iter()
            .map(|metadata| descriptor::check(&file, metadata))
            .collect::<Result<Vec<_>, _>>()?;
        let described = |name: &str| kernels.iter().any(|kernel| kernel.metadata.symbol == name);
        for symbol in &file.symbols {
            if symbol.kind == SymbolKind::Descriptor && !described(&symbol.name) {
                return Err(CodeObjectFault::NotInMetadata(symbol.name.clone()));
            }
        }
        let hash = blake3::hash(bytes).to_hex()[..16].to_owned();
        Ok(Self {
            bytes: bytes.to_vec(),
            target: file.target,
            segments: file.segments,
            symbols: file.symbols,
            relocations: file.relocations,
            kernels,
            hash,
        })
    }

    /// Bytes from address 0 of the image to its end.
    pub(crate) fn memory_size(&self) -> u64 {
        self.segments.iter().map(Segment::end).max().unwrap_or(0)
    }
}
