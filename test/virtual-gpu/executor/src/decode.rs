//! From the syntax tree to the decoded form.

mod body;
mod operands;
mod order;

use std::collections::HashMap;

use offloom_ptx::Module;
use offloom_ptx::tree::{self, StateSpace, SymbolIndex, SymbolKind};
use offloom_ptx_arithmetic::{LANES, Lanes};

use crate::code::{Builtin, Function, Instruction, Operation, Origin, Slot, Source, Target};
use crate::space::{FUNCTION_SIZE, SHARED_START};

/// What a name of the module stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    /// A variable in global or constant memory, by its address.
    Global(u64),
    /// A variable in shared memory, by its offset.
    Shared(u32),
    /// The dynamic part of shared memory.
    DynamicShared,
    /// A function of the program, by its index.
    Function(u32),
    /// A function that the device has.
    Builtin(Builtin),
    /// Declared, not defined.
    Undefined,
}

/// All code of a program.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) constants: Vec<Lanes>,
    pub(crate) functions: Vec<Function>,
    /// For each function, the shared variables that it names, by offset and size.
    pub(crate) shared_of: Vec<Vec<(u32, u32)>>,
    /// Functions whose address is taken somewhere.
    pub(crate) taken: Vec<u32>,
    /// Where shared memory's static part ends, of all kernels together.
    pub(crate) shared_end: u32,
}

/// What the module's names mean, in the order of its symbols.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) meanings: Vec<Meaning>,
    pub(crate) shared_sizes: HashMap<u32, u32>,
    pub(crate) shared_end: u32,
    pub(crate) code_window: u64,
}

impl Names {
    /// Gives shared variables their offsets and functions their indices. Globals get theirs by `place`.
    pub(crate) fn new<E>(
        module: &Module,
        code_window: u64,
        mut place: impl FnMut(&tree::Symbol, &tree::Variable) -> Result<u64, E>,
    ) -> Result<Self, E> {
        let mut names = Self {
            meanings: Vec::with_capacity(module.symbols.len()),
            shared_sizes: HashMap::new(),
            shared_end: SHARED_START,
            code_window,
        };
        let mut functions = 0;
        for symbol in &module.symbols {
            let meaning = match &symbol.kind {
                SymbolKind::Variable(variable) if variable.space == StateSpace::Shared => {
                    names.place_shared(symbol, variable)
                }
                SymbolKind::Variable(variable) => {
                    if symbol.linkage == tree::Linkage::Extern {
                        Meaning::Undefined
                    } else {
                        Meaning::Global(place(symbol, variable)?)
                    }
                }
                SymbolKind::Function(function) if function.body.is_some() => {
                    functions += 1;
                    Meaning::Function(functions - 1)
                }
                SymbolKind::Function(_) => builtin(&symbol.name).map_or(Meaning::Undefined, Meaning::Builtin),
                SymbolKind::Alias(_) => Meaning::Undefined,
            };
            names.meanings.push(meaning);
        }
        for (index, symbol) in module.symbols.iter().enumerate() {
            // An alias of an alias is none: each leads to a function at once.
            if let SymbolKind::Alias(of) = symbol.kind {
                names.meanings[index] = names.meaning(of);
            }
        }
        Ok(names)
    }

    fn place_shared(&mut self, symbol: &tree::Symbol, variable: &tree::Variable) -> Meaning {
        let size = u32::try_from(variable.size).unwrap_or(u32::MAX / 2);
        if size == 0 || symbol.linkage == tree::Linkage::Extern {
            return Meaning::DynamicShared;
        }
        let alignment = variable.alignment.max(1);
        let offset = self
            .shared_end
            .checked_next_multiple_of(alignment)
            .unwrap_or(self.shared_end);
        self.shared_end = offset.saturating_add(size);
        self.shared_sizes.insert(offset, size);
        Meaning::Shared(offset)
    }

    pub(crate) fn meaning(&self, symbol: SymbolIndex) -> Meaning {
        self.meanings
            .get(symbol.0 as usize)
            .copied()
            .unwrap_or(Meaning::Undefined)
    }

    /// The address of a function's code.
    pub(crate) fn function_address(&self, index: u32) -> u64 {
        self.code_window + (u64::from(index) + 1) * FUNCTION_SIZE
    }

    /// Where dynamic shared memory begins.
    pub(crate) fn dynamic_shared(&self) -> u32 {
        self.shared_end.next_multiple_of(128)
    }
}

fn builtin(name: &str) -> Option<Builtin> {
    Some(match name {
        "vprintf" => Builtin::Vprintf,
        "malloc" => Builtin::Malloc,
        "free" => Builtin::Free,
        "__assertfail" => Builtin::AssertFail,
        _ => return None,
    })
}

/// Decodes all functions of a module.
pub(crate) fn decode(module: &Module, names: &Names) -> Code {
    let mut code = Code {
        shared_end: names.dynamic_shared(),
        ..Code::default()
    };
    let mut pool = Pool::default();
    for symbol in &module.symbols {
        let SymbolKind::Function(function) = &symbol.kind else {
            continue;
        };
        let Some(body) = &function.body else { continue };
        body::decode(&mut code, &mut pool, module, names, symbol, function, body);
    }
    code.constants = pool.constants;
    code.taken.sort_unstable();
    code.taken.dedup();
    code
}

/// The program's constants, each the same in all lanes.
#[derive(Debug, Default)]
struct Pool {
    constants: Vec<Lanes>,
    indices: HashMap<u64, u32>,
}

impl Pool {
    fn get(&mut self, value: u64) -> Source {
        let index = *self.indices.entry(value).or_insert_with(|| {
            self.constants.push([value; LANES]);
            self.constants.len() as u32 - 1
        });
        Source::constant(index)
    }
}

/// The largest number of bytes of stack that calls from a function need, without recursion.
pub(crate) fn stack_need(code: &Code, function: u32) -> u32 {
    fn visit(code: &Code, function: u32, needs: &mut [Option<u32>], path: &mut Vec<u32>) -> u32 {
        let index = function as usize;
        if let Some(need) = needs[index] {
            return need;
        }
        // What recurs, and what is nested deeper than any stack, is counted against the limit instead.
        if path.contains(&function) || path.len() > 256 {
            return 0;
        }
        path.push(function);
        let mut deepest = 0;
        for callee in callees(code, function) {
            deepest = deepest.max(visit(code, callee, needs, path));
        }
        path.pop();
        let need = deepest.saturating_add(code.functions[index].stack_bytes);
        needs[index] = Some(need);
        need
    }
    let mut needs = vec![None; code.functions.len()];
    visit(code, function, &mut needs, &mut Vec::new())
}

/// The functions that a function may call. An indirect call may reach each function whose address is taken.
pub(crate) fn callees(code: &Code, function: u32) -> Vec<u32> {
    let function = &code.functions[function as usize];
    let range = function.entry as usize..(function.entry + function.length) as usize;
    let mut found = Vec::new();
    for instruction in &code.instructions[range] {
        if let Operation::Call(call) = &instruction.operation {
            match call.target {
                Target::Function(callee) => found.push(callee),
                Target::Address(_) => found.extend(&code.taken),
                Target::Builtin(_) => {}
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Bytes of shared memory that a kernel and all that it may call name, as ranges.
pub(crate) fn shared_ranges(code: &Code, kernel: u32) -> Vec<(u32, u32)> {
    let mut reached = vec![false; code.functions.len()];
    let mut left = vec![kernel];
    let mut ranges = Vec::new();
    while let Some(function) = left.pop() {
        if std::mem::replace(&mut reached[function as usize], true) {
            continue;
        }
        ranges.extend(&code.shared_of[function as usize]);
        left.extend(callees(code, function));
    }
    ranges.sort_unstable();
    ranges.dedup();
    ranges
}

/// Slots one behind the other.
#[derive(Debug, Default)]
struct Frame {
    bytes: u32,
    alignment: u32,
}

impl Frame {
    fn add(&mut self, size: u64, alignment: u32) -> Slot {
        let size = u32::try_from(size).unwrap_or(u32::MAX / 4);
        // Everything begins at a multiple of 8 and rows are not shared, so copies go word by word.
        let alignment = alignment.clamp(8, 1 << 16).next_power_of_two();
        self.alignment = self.alignment.max(alignment);
        let offset = self
            .bytes
            .checked_next_multiple_of(alignment)
            .unwrap_or(self.bytes);
        self.bytes = offset.saturating_add(size);
        Slot { offset, size }
    }
}
