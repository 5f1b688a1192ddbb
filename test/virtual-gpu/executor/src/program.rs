//! A program for a device: PTX, decoded once, with its globals in memory.

use std::sync::Arc;

use offloom_ptx::Module;
use offloom_ptx::tree::{self, Linkage, StateSpace, SymbolKind};
use thiserror::Error;

use crate::code::{Function, Operation};
use crate::decode::{self, Code, Meaning, Names};
use crate::device::DeviceProperties;
use crate::form;
use crate::memory::{Memory, MemoryError, Owner};
use crate::space::{FUNCTION_SIZE, Space, new_code_window};

/// Why PTX cannot become a program.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum ProgramError {
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
    /// A variable in shared memory is larger than what a block may have, so `ptxas` would refuse it.
    #[error("{file}:{line}: `{symbol}` has {size} bytes of shared memory, a block at most {most}")]
    SharedTooLarge {
        /// The PTX file.
        file: String,
        /// The line of its declaration.
        line: u32,
        /// The symbol.
        symbol: String,
        /// Its bytes.
        size: u64,
        /// Of a block.
        most: u32,
    },
    /// The globals do not fit.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

fn refuse_too_large(module: &Module, most: u32) -> Result<(), ProgramError> {
    for symbol in &module.symbols {
        if let SymbolKind::Variable(variable) = &symbol.kind
            && variable.space == StateSpace::Shared
            && variable.size > most.into()
        {
            return Err(ProgramError::SharedTooLarge {
                file: module.name.clone(),
                line: symbol.line,
                symbol: symbol.name.clone(),
                size: variable.size,
                most,
            });
        }
    }
    Ok(())
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
    file: String,
    code: Code,
    code_window: u64,
    kernels: Vec<Kernel>,
    /// What only launches need, in the order of the kernels.
    details: Vec<Details>,
    /// Globals that are found by name, sorted by it.
    globals: Vec<Global>,
    placed: Placed,
}

/// What launches need of a kernel.
#[derive(Debug)]
pub(crate) struct Details {
    /// The function's index.
    pub(crate) function: u32,
    /// Bytes of stack without recursion.
    pub(crate) stack_need: u32,
    /// Static shared memory that can be reached: offsets and sizes.
    pub(crate) shared: Vec<(u32, u32)>,
}

/// Allocations of globals; given back when the program ends.
#[derive(Debug)]
struct Placed {
    memory: Arc<Memory>,
    addresses: Vec<u64>,
}

impl Drop for Placed {
    fn drop(&mut self) {
        for &address in &self.addresses {
            // Someone else may have freed it: then there is nothing to do.
            let _ = self.memory.free(address);
        }
    }
}

impl Program {
    /// Decodes a linked module for a device and places its globals, with their initial values, in the memory.
    ///
    /// Instructions that the executor does not know are faults when a thread comes to them, not here.
    ///
    /// # Errors
    ///
    /// A global of another file that nothing defines, a shared variable larger than a block's shared memory,
    /// no memory for the globals.
    pub fn new(
        module: &Module,
        properties: &DeviceProperties,
        memory: &Arc<Memory>,
    ) -> Result<Self, ProgramError> {
        refuse_too_large(module, properties.max_shared_bytes)?;
        let mut placed = Placed {
            memory: Arc::clone(memory),
            addresses: Vec::new(),
        };
        let owner = Owner::Device(properties.number);
        let code_window = new_code_window();
        let mut globals = Vec::new();
        let names = Names::new(module, code_window, |symbol, variable| {
            let address = memory.allocate(variable.size.max(1), owner)?;
            placed.addresses.push(address);
            if symbol.linkage != Linkage::Internal {
                globals.push(Global {
                    name: symbol.name.clone(),
                    address,
                    size: variable.size,
                    is_constant: variable.space == StateSpace::Const,
                });
            }
            Ok::<u64, MemoryError>(address)
        })?;
        globals.sort_by(|a, b| a.name.cmp(&b.name));
        let mut code = decode::decode(module, &names);
        for (symbol, meaning) in module.symbols.iter().zip(&names.meanings) {
            if let (SymbolKind::Variable(variable), Meaning::Global(address)) = (&symbol.kind, meaning) {
                let mut bytes = variable.initializer.data.clone();
                if !variable.initializer.relocations.is_empty() {
                    bytes.resize(variable.size as usize, 0);
                }
                relocate(&mut bytes, variable, &names, &mut code, module, symbol)?;
                memory.write(*address, &bytes)?;
            }
        }
        code.taken.sort_unstable();
        code.taken.dedup();

        let mut kernels = Vec::new();
        for (symbol, meaning) in module.symbols.iter().zip(&names.meanings) {
            if let (SymbolKind::Function(function), Meaning::Function(index)) = (&symbol.kind, meaning)
                && function.is_entry
            {
                kernels.push(kernel(&symbol.name, function, *index, &code, properties));
            }
        }
        kernels.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        let (kernels, details) = kernels.into_iter().unzip();
        Ok(Self {
            properties: properties.clone(),
            memory: Arc::clone(memory),
            file: module.name.clone(),
            code,
            code_window,
            kernels,
            details,
            globals,
            placed,
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
        &self.kernels
    }

    /// The kernel of this name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.find_kernel(name).map(|(kernel, _)| kernel)
    }

    /// The globals that are found by name, sorted by it.
    #[must_use]
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// The global of this name. Those that are internal to a file are not found.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<&Global> {
        let at = self
            .globals
            .binary_search_by(|global| global.name.as_str().cmp(name))
            .ok()?;
        self.globals.get(at)
    }

    /// Bytes of global memory that the program's variables take.
    #[must_use]
    pub fn global_bytes(&self) -> u64 {
        let size = |&address: &u64| self.memory.find(address).map_or(0, |(_, size, _)| size);
        self.placed.addresses.iter().map(size).sum()
    }

    /// Instructions that the executor cannot run: the line and what is wrong. A thread that comes there is a
    /// fault.
    pub fn unsupported(&self) -> impl Iterator<Item = (u32, &str)> {
        let code = self.code.instructions.iter().zip(&self.code.origins);
        code.filter_map(|(instruction, origin)| match &instruction.operation {
            Operation::Unknown(problem) => Some((origin.line, &**problem)),
            _ => None,
        })
    }

    pub(crate) fn find_kernel(&self, name: &str) -> Option<(&Kernel, &Details)> {
        let at = self
            .kernels
            .binary_search_by(|kernel| kernel.name.as_str().cmp(name))
            .ok()?;
        Some((self.kernels.get(at)?, self.details.get(at)?))
    }

    pub(crate) fn code(&self) -> &Code {
        &self.code
    }

    /// The function at an address.
    pub(crate) fn function_at(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.code_window)?;
        let index = (offset / FUNCTION_SIZE).checked_sub(1)?;
        let is_function = offset.is_multiple_of(FUNCTION_SIZE) && index < self.code.functions.len() as u64;
        is_function.then_some(index as u32)
    }

    /// The function that an instruction belongs to.
    pub(crate) fn function_of(&self, pc: u32) -> Option<&Function> {
        let functions = &self.code.functions;
        let after = functions.partition_point(|function| function.entry <= pc);
        functions.get(after.checked_sub(1)?)
    }

    /// The line that an instruction comes from, 0 for what a function does on its own account.
    pub(crate) fn line_of(&self, pc: usize) -> u32 {
        self.code.origins.get(pc).map_or(0, |origin| origin.line)
    }

    /// The PTX file's name.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }
}

/// Writes addresses into a variable's initial bytes.
fn relocate(
    bytes: &mut [u8],
    variable: &tree::Variable,
    names: &Names,
    code: &mut Code,
    module: &Module,
    symbol: &tree::Symbol,
) -> Result<(), ProgramError> {
    for relocation in &variable.initializer.relocations {
        let address = match names.meaning(relocation.symbol) {
            Meaning::Global(address) => address,
            Meaning::Shared(offset) if relocation.is_generic => Space::Shared.window() + u64::from(offset),
            Meaning::Shared(offset) => offset.into(),
            Meaning::DynamicShared => names.dynamic_shared().into(),
            Meaning::Function(index) => {
                code.taken.push(index);
                names.function_address(index)
            }
            Meaning::Builtin(_) | Meaning::Undefined => {
                let name = module
                    .symbols
                    .get(relocation.symbol.0 as usize)
                    .map_or("?", |symbol| &symbol.name);
                return Err(ProgramError::Undefined {
                    file: module.name.clone(),
                    line: symbol.line,
                    symbol: name.to_owned(),
                });
            }
        };
        let value = address.wrapping_add_signed(relocation.addend) >> relocation.shift.min(63);
        let size = relocation.size.min(8) as usize;
        let place = usize::try_from(relocation.offset).ok();
        let place = place.and_then(|offset| bytes.get_mut(offset..offset.checked_add(size)?));
        if let Some(place) = place {
            place.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
    Ok(())
}

fn kernel(
    name: &str,
    function: &tree::Function,
    index: u32,
    code: &Code,
    properties: &DeviceProperties,
) -> (Kernel, Details) {
    let parameters = function.parameters.iter().map(|parameter| ParameterLayout {
        offset: parameter.offset,
        size: parameter.size,
    });
    let parameters: Vec<_> = parameters.collect();
    let shared = decode::shared_ranges(code, index);
    let stack_need = decode::stack_need(code, index);
    let threads = |[x, y, z]: [u32; 3]| x.saturating_mul(y).saturating_mul(z);
    let limit = function.reqntid.or(function.maxntid).map_or(u32::MAX, threads);
    let kernel = Kernel {
        name: name.to_owned(),
        parameter_bytes: parameters
            .iter()
            .map(|place| place.offset + place.size)
            .max()
            .unwrap_or(0),
        parameters,
        shared_bytes: shared
            .iter()
            .map(|(_, size)| size)
            .fold(0, |sum: u32, &size| sum.saturating_add(size)),
        local_bytes: stack_need,
        max_threads_per_block: limit.min(properties.max_threads_per_block),
        required_block: function.reqntid,
    };
    let details = Details {
        function: index,
        stack_need,
        shared,
    };
    (kernel, details)
}

/// Whether the executor knows an opcode, written with all its modifiers: `ld.global.v2.u32`.
#[must_use]
pub fn supports(opcode: &str) -> bool {
    form::parse(opcode).is_some()
}
