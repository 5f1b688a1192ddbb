//! A program for a device: PTX, decoded once, with its globals in memory.

use std::sync::Arc;

use offloom_ptx::Module;
use thiserror::Error;

use crate::device::DeviceProperties;
use crate::memory::{Memory, MemoryError};

/// Why PTX cannot become a program.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum ProgramError {
    /// The PTX says something that cannot be executed.
    #[error("{file}:{line}: {problem}")]
    Unsupported {
        /// The PTX file.
        file: String,
        /// The line.
        line: u32,
        /// What is wrong, with the instruction.
        problem: String,
    },
    /// A symbol has no definition.
    #[error("{file}:{line}: `{symbol}` is used but not defined")]
    Undefined {
        /// The PTX file.
        file: String,
        /// The line of its declaration.
        line: u32,
        /// The symbol.
        symbol: String,
    },
    /// The globals do not fit.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// A parameter's place in a kernel's block of parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ParameterLayout {
    /// The first byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// A kernel that can be launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name.
    pub name: String,
    /// The parameters in order.
    pub parameters: Vec<ParameterLayout>,
    /// Bytes of all parameters.
    pub parameter_bytes: u64,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Bytes of local memory of a thread that the kernel and the functions it calls directly need.
    pub local_bytes: u32,
    /// Threads of a block at most, by `.maxntid` or `.reqntid` or else the device's limit.
    pub max_threads_per_block: u32,
    /// `.reqntid`: the only shape of a block.
    pub required_block: Option<[u32; 3]>,
}

/// A variable in global or constant memory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Global {
    /// The name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// In constant memory.
    pub is_constant: bool,
}

/// A decoded program. Its globals are in the memory as long as the program is.
#[derive(Debug)]
pub struct Program {
    properties: DeviceProperties,
    memory: Arc<Memory>,
}

impl Program {
    /// Decodes a linked module for a device and places its globals, with their initial values, in the memory.
    ///
    /// # Errors
    ///
    /// An instruction that the executor does not know, an undefined symbol, no memory for the globals.
    pub fn new(
        module: &Module,
        properties: &DeviceProperties,
        memory: &Arc<Memory>,
    ) -> Result<Self, ProgramError> {
        let _ = module;
        Ok(Self {
            properties: properties.clone(),
            memory: Arc::clone(memory),
        })
    }

    /// The device it was made for.
    #[must_use]
    pub fn properties(&self) -> &DeviceProperties {
        &self.properties
    }

    /// The memory it works on.
    #[must_use]
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// The kernels, sorted by name.
    #[must_use]
    pub fn kernels(&self) -> &[Kernel] {
        &[]
    }

    /// The kernel of this name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        let kernels = self.kernels();
        let at = kernels.binary_search_by(|kernel| kernel.name.as_str().cmp(name)).ok()?;
        kernels.get(at)
    }

    /// The global of this name. Those that are internal to a file are not found.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<&Global> {
        let _ = name;
        None
    }
}

/// Whether the executor knows an opcode, written with all its modifiers: `ld.global.v2.u32`.
#[must_use]
pub fn supports(opcode: &str) -> bool {
    let _ = opcode;
    false
}
