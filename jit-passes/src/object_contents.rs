//! Which bytes of the objects behind a kernel's pointers the kernel provably only reads, and reads at every
//! launch: those hold what they held when the kernel was launched, wherever they are loaded.
//!
//! Every write that the kernel can reach is looked at. It leaves an object alone if it goes to local
//! variables, if types say so (TBAA), or if the kernel declares that the object is changed through no other
//! pointer (`noalias`). What may write anywhere, or order accesses between threads so that someone else's
//! writes count, rules every object out: unknown calls, fences, atomic accesses that are stronger than
//! relaxed or whose value the kernel goes by, `volatile`. Kernels that run at the same time and write the
//! object would race with this one's loads.
//!
//! [`noted`] keeps what is known over a pipeline that drops the types.

pub mod noted;

use std::collections::{HashMap, HashSet};

use offloom_abi::jit_bundle::MAX_CONTENTS;
use offloom_ir::call_sites::{CallSite, CallSites, THREAD_NUMBERS, all_call_sites};
use offloom_ir::function_arguments::{fold_constants, is_copied, split_copies};
use offloom_ir::inkwell::basic_block::BasicBlock;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::{BasicValueEnum, FunctionValue, InstructionValue, PointerValue};
use offloom_ir::memory_effects::{
    Object, dereferenceable_bytes, is_always_executed, is_noalias, may_be_address, types_differ,
    underlying_objects, written_pointers,
};
use offloom_ir::pointer_uses::{PointerUseKind, pointer_behind, pointer_uses};
use offloom_ir::symbol::{Symbol, SymbolKind};
use offloom_ir::value_uses::{called_function, operand};

use crate::survey::reached_from;
use noted::noted_bytes;

/// Functions of the OpenMP runtime, by the start of their names, that write nothing of the program's but what
/// their operands lead to. Those that wait for other kernels (critical regions, locks, flushes) or run code
/// later (tasks) are not among them.
const RUNTIME_FUNCTIONS: [&str; 19] = [
    "__kmpc_alloc_shared",
    "__kmpc_barrier",
    "__kmpc_dispatch_",
    "__kmpc_dist_for_static_init",
    "__kmpc_distribute_static_",
    "__kmpc_end_reduce",
    "__kmpc_end_serialized_parallel",
    "__kmpc_for_static_",
    "__kmpc_free_shared",
    "__kmpc_get_hardware_",
    "__kmpc_get_shared_variables",
    "__kmpc_get_warp_size",
    "__kmpc_global_thread_num",
    "__kmpc_is_spmd_exec_mode",
    "__kmpc_kernel_",
    "__kmpc_push_num_t",
    "__kmpc_reduce",
    "__kmpc_serialized_parallel",
    "omp_get_",
];

/// Runtime functions that write nothing of the program's: they call what they are handed, or begin and end a
/// kernel.
const WRITE_NOTHING: [&str; 6] = [
    "__kmpc_fork_call",
    "__kmpc_fork_teams",
    "__kmpc_parallel_51",
    "__kmpc_parallel_60",
    "__kmpc_target_deinit",
    "__kmpc_target_init",
];

/// Makes a module's local variables values, and copies of objects loads of their fields, as [`KernelMemory`]
/// wants it.
pub fn expose_loads(module: &Module<'_>) {
    fold_constants(module);
    split_copies(module, MAX_CONTENTS as u64);
    fold_constants(module);
}

/// A load from an object whose contents at launch are what it loads.
#[derive(Debug, Clone, Copy)]
pub struct ObjectLoad<'ctx> {
    /// The load.
    pub instruction: InstructionValue<'ctx>,
    /// Where in the object, in bytes from where the kernel's argument points.
    pub offset: usize,
    /// How many bytes.
    pub size: usize,
}

impl ObjectLoad<'_> {
    /// Whether it loads only bytes that are marked.
    fn is_of(&self, marked: &[bool]) -> bool {
        marked
            .get(self.offset..self.offset + self.size)
            .is_some_and(|bytes| bytes.iter().all(|&byte| byte))
    }
}

/// From where the functions of a module get their pointers.
pub struct PointerSources<'ctx> {
    sites: HashMap<FunctionValue<'ctx>, CallSites<'ctx>>,
    /// What each pointer parameter is the parameter of.
    parameters: HashMap<PointerValue<'ctx>, (FunctionValue<'ctx>, u32)>,
    /// For each pointer parameter of which that is known of all who call its function: behind which pointers
    /// they find what they give it, and at which distance.
    origins: HashMap<PointerValue<'ctx>, Vec<(PointerValue<'ctx>, i64)>>,
    /// The parameters that have a pointer among their origins.
    receivers: HashMap<PointerValue<'ctx>, Vec<PointerValue<'ctx>>>,
}

/// What one kernel does with memory.
pub struct KernelMemory<'sources, 'ctx> {
    kernel: FunctionValue<'ctx>,
    sources: &'sources PointerSources<'ctx>,
    /// Every write outside local variables; `None` if not all of them are known.
    writes: Option<Vec<Write<'ctx>>>,
}

struct Write<'ctx> {
    instruction: InstructionValue<'ctx>,
    /// The kernel's parameters it may go through.
    parameters: HashSet<PointerValue<'ctx>>,
    /// Whether it may also go through a pointer of which nothing is known.
    elsewhere: bool,
}

impl<'ctx> PointerSources<'ctx> {
    /// Looks at every call of the module.
    pub fn of(module: &Module<'ctx>) -> Self {
        let sites = all_call_sites(module);
        let parameters: HashMap<_, _> = sites
            .keys()
            .flat_map(|&function| {
                (0..)
                    .zip(function.get_param_iter())
                    .filter_map(move |(index, parameter)| match parameter {
                        BasicValueEnum::PointerValue(pointer) => Some((pointer, (function, index))),
                        _ => None,
                    })
            })
            .collect();
        let origins: HashMap<_, Vec<_>> = parameters
            .iter()
            .filter_map(|(&parameter, &(function, index))| {
                Some((parameter, origins(sites.get(&function)?, function, index)?))
            })
            .collect();
        let mut receivers: HashMap<_, Vec<_>> = HashMap::new();
        for (&parameter, from) in &origins {
            for &(pointer, _) in from {
                receivers.entry(pointer).or_default().push(parameter);
            }
        }
        Self {
            sites,
            parameters,
            origins,
            receivers,
        }
    }
}

impl<'sources, 'ctx> KernelMemory<'sources, 'ctx> {
    /// Looks at everything that the kernel can reach. Loads should have been exposed ([`expose_loads`]).
    pub fn of(sources: &'sources PointerSources<'ctx>, kernel: FunctionValue<'ctx>) -> Self {
        let mut memory = Self {
            kernel,
            sources,
            writes: None,
        };
        memory.writes = memory.find_writes();
        memory
    }

    /// The loads from the object behind the kernel's pointer parameter at `index` that load what it holds at
    /// launch, and no address.
    pub fn constant_loads(&self, index: u32) -> Vec<ObjectLoad<'ctx>> {
        let Some(BasicValueEnum::PointerValue(object)) = self.kernel.get_nth_param(index) else {
            return Vec::new();
        };
        if is_copied(self.kernel, index) {
            return Vec::new();
        }
        let parameters = self.parameters_that_are(object);
        let all = loads_through(&parameters);
        let noted = noted_bytes(self.kernel, index);
        let readable = self.readable_bytes(&parameters, &all);
        let is_constant = |load: &ObjectLoad<'ctx>| {
            load.is_of(&noted)
                || load.is_of(&readable)
                    && !may_be_address(load.instruction)
                    && self.is_unchanged(index, object, load)
        };
        all.into_iter().filter(is_constant).collect()
    }

    /// Whether no write changes what the load reads.
    fn is_unchanged(&self, index: u32, object: PointerValue<'ctx>, load: &ObjectLoad<'ctx>) -> bool {
        let leaves_alone = |write: &Write<'ctx>| self.leaves_alone(write, index, object, load);
        self.writes
            .as_ref()
            .is_some_and(|writes| writes.iter().all(leaves_alone))
    }

    /// Whether a write changes nothing that the load reads.
    fn leaves_alone(
        &self,
        write: &Write<'ctx>,
        index: u32,
        object: PointerValue<'ctx>,
        load: &ObjectLoad<'ctx>,
    ) -> bool {
        let through_another = !write.elsewhere && !write.parameters.contains(&object);
        (through_another && is_noalias(self.kernel, index))
            || types_differ(write.instruction, load.instruction)
    }

    /// Whether the kernel itself reads all of these bytes of the object at every launch. Declarations are
    /// about the whole object, of which a program may have mapped a part.
    pub fn reads_at_launch(&self, index: u32, bytes: &[bool]) -> bool {
        if !bytes.contains(&true) {
            return true;
        }
        let Some(BasicValueEnum::PointerValue(object)) = self.kernel.get_nth_param(index) else {
            return false;
        };
        let mut read = [false; MAX_CONTENTS];
        let loads = loads_through(&self.parameters_that_are(object));
        self.mark_read_at_launch(&mut read, &loads);
        let mut bytes = bytes.iter().enumerate().filter(|(_, wanted)| **wanted);
        bytes.all(|(byte, _)| read.get(byte) == Some(&true))
    }

    /// Bytes of the object that can be read at launches: as far as the kernel declares, or a function that it
    /// calls at each, or because it does so itself at each.
    fn readable_bytes(
        &self,
        parameters: &HashMap<PointerValue<'ctx>, i64>,
        loads: &[ObjectLoad<'ctx>],
    ) -> Vec<bool> {
        let mut readable = vec![false; MAX_CONTENTS];
        let within = |place: i64| usize::try_from(place).unwrap_or(0).min(MAX_CONTENTS);
        for (parameter, &start) in parameters {
            if let Some(&(function, index)) = self.sources.parameters.get(parameter)
                && (function == self.kernel || self.is_called_at_launch(function, &mut HashSet::new()))
            {
                let end = start.saturating_add_unsigned(dereferenceable_bytes(function, index));
                readable[within(start)..within(end)].fill(true);
            }
        }
        self.mark_read_at_launch(&mut readable, loads);
        readable
    }

    fn mark_read_at_launch(&self, bytes: &mut [bool], loads: &[ObjectLoad<'ctx>]) {
        for load in loads {
            if self.is_executed_at_launch(load.instruction, &mut HashSet::new()) {
                bytes[load.offset..load.offset + load.size].fill(true);
            }
        }
    }

    fn is_executed_at_launch(
        &self,
        instruction: InstructionValue<'ctx>,
        seen: &mut HashSet<FunctionValue<'ctx>>,
    ) -> bool {
        let Some(function) = instruction.get_parent().and_then(BasicBlock::get_parent) else {
            return false;
        };
        if !is_always_executed(instruction) || !seen.insert(function) {
            return false;
        }
        function == self.kernel || self.is_called_at_launch(function, seen)
    }

    fn is_called_at_launch(
        &self,
        function: FunctionValue<'ctx>,
        seen: &mut HashSet<FunctionValue<'ctx>>,
    ) -> bool {
        self.sources.sites.get(&function).is_some_and(|sites| {
            let mut calls = sites.known.iter().map(|site| site.call);
            calls.any(|call| self.is_executed_at_launch(call, seen))
        })
    }

    /// The parameters that always lead into the object, each with the distance from its start.
    fn parameters_that_are(&self, object: PointerValue<'ctx>) -> HashMap<PointerValue<'ctx>, i64> {
        let mut found = HashMap::from([(object, 0)]);
        // One whose last origin is found later is looked at again then.
        let mut open = vec![object];
        while let Some(pointer) = open.pop() {
            for &parameter in self.sources.receivers.get(&pointer).into_iter().flatten() {
                if !found.contains_key(&parameter)
                    && let Some(distance) = self.always_gets(parameter, &found)
                {
                    found.insert(parameter, distance);
                    open.push(parameter);
                }
            }
        }
        found
    }

    /// The distance from the object, if everyone who calls the parameter's function gives it a pointer to the
    /// same place there.
    fn always_gets(
        &self,
        parameter: PointerValue<'ctx>,
        known: &HashMap<PointerValue<'ctx>, i64>,
    ) -> Option<i64> {
        let origins = self.sources.origins.get(&parameter)?;
        let mut distances = origins
            .iter()
            .map(|(behind, distance)| Some(known.get(behind)? + distance));
        let first = distances.next()??;
        distances.all(|distance| distance == Some(first)).then_some(first)
    }

    fn find_writes(&self) -> Option<Vec<Write<'ctx>>> {
        let mut writes = Vec::new();
        let reached = reached_from(self.kernel.into());
        let functions = reached
            .into_iter()
            .filter(|global| {
                global.kind() == SymbolKind::Function && !global.is_declaration() && !global.never_returns()
            })
            .filter_map(Symbol::as_function);
        for function in std::iter::once(self.kernel).chain(functions) {
            let instructions = function
                .get_basic_block_iter()
                .flat_map(BasicBlock::get_instructions);
            for instruction in instructions {
                for pointer in self.pointers_written(instruction)? {
                    let mut write = Write {
                        instruction,
                        parameters: HashSet::new(),
                        elsewhere: false,
                    };
                    self.add_objects(&mut write, pointer, &mut HashSet::new());
                    if write.elsewhere || !write.parameters.is_empty() {
                        writes.push(write);
                    }
                }
            }
        }
        Some(writes)
    }

    /// The pointers that the instruction itself writes through.
    fn pointers_written(&self, instruction: InstructionValue<'ctx>) -> Option<Vec<PointerValue<'ctx>>> {
        let Some(callee) = called_function(instruction).map(Symbol::from) else {
            return written_pointers(instruction, false);
        };
        if callee.never_returns() {
            // Nothing is loaded after what it does: it ends the program, as when an exception leaves a
            // region, or jumps to a `setjmp`, an unknown call.
            return Some(Vec::new());
        }
        if !callee.is_declaration() {
            // What it does is looked at there, unless another definition may take its place.
            return (!callee.is_interposable()).then(Vec::new);
        }
        let name = callee.name();
        let writes_nothing = WRITE_NOTHING.contains(&name.as_str());
        let is_runtime = writes_nothing || RUNTIME_FUNCTIONS.iter().any(|start| name.starts_with(start));
        if is_runtime && !calls_only_what_is_known(instruction) {
            return None;
        }
        if writes_nothing {
            return Some(Vec::new());
        }
        written_pointers(instruction, is_runtime)
    }

    /// Adds what a pointer may lead into.
    fn add_objects(
        &self,
        write: &mut Write<'ctx>,
        pointer: PointerValue<'ctx>,
        seen: &mut HashSet<PointerValue<'ctx>>,
    ) {
        for object in underlying_objects(pointer) {
            match object {
                Object::Local => {}
                Object::Unknown => write.elsewhere = true,
                Object::Parameter(parameter) => {
                    if seen.insert(parameter) {
                        self.add_parameter(write, parameter, seen);
                    }
                }
            }
        }
    }

    fn add_parameter(
        &self,
        write: &mut Write<'ctx>,
        parameter: PointerValue<'ctx>,
        seen: &mut HashSet<PointerValue<'ctx>>,
    ) {
        let Some(&(function, index)) = self.sources.parameters.get(&parameter) else {
            write.elsewhere = true;
            return;
        };
        if is_copied(function, index) {
            return;
        }
        if function == self.kernel {
            write.parameters.insert(parameter);
            return;
        }
        let Some(sites) = self.sources.sites.get(&function).filter(|sites| sites.complete) else {
            write.elsewhere = true;
            return;
        };
        for site in &sites.known {
            match site.arguments[index as usize].map(|argument| argument.value) {
                Some(BasicValueEnum::PointerValue(pointer)) => self.add_objects(write, pointer, seen),
                // The runtime's own variables.
                None if index < THREAD_NUMBERS => {}
                _ => write.elsewhere = true,
            }
        }
    }
}

/// The loads at known offsets from an object, in the functions that always get its address, through these
/// parameters, each with the distance from its start.
fn loads_through<'ctx>(parameters: &HashMap<PointerValue<'ctx>, i64>) -> Vec<ObjectLoad<'ctx>> {
    let mut loads = Vec::new();
    for (&pointer, start) in parameters {
        for pointer_use in pointer_uses(pointer) {
            let PointerUseKind::Load { size } = pointer_use.kind else {
                continue;
            };
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            match usize::try_from(start + pointer_use.offset) {
                Ok(offset) if offset.saturating_add(size) <= MAX_CONTENTS => loads.push(ObjectLoad {
                    instruction: pointer_use.instruction,
                    offset,
                    size,
                }),
                _ => {}
            }
        }
    }
    loads
}

/// Where all who call the function find the pointer that they give it as its parameter at `index`; `None` if
/// that is not known of one of them.
fn origins<'ctx>(
    sites: &CallSites<'ctx>,
    function: FunctionValue<'ctx>,
    index: u32,
) -> Option<Vec<(PointerValue<'ctx>, i64)>> {
    if !sites.complete || is_copied(function, index) {
        return None;
    }
    let origin = |site: &CallSite<'ctx>| {
        let argument = site.arguments[index as usize]?;
        let BasicValueEnum::PointerValue(pointer) = argument.value else {
            return None;
        };
        Some(pointer_behind(pointer, argument.handed_over_by))
    };
    sites.known.iter().map(origin).collect()
}

/// Whether every function that is handed over has a definition that can be looked at.
fn calls_only_what_is_known(call: InstructionValue<'_>) -> bool {
    let arguments = call.get_num_operands().saturating_sub(1);
    (0..arguments)
        .filter_map(|index| operand(call, index))
        .filter_map(Symbol::of_value)
        .filter(|global| global.kind() == SymbolKind::Function)
        .all(|function| !function.is_declaration() && !function.is_interposable())
}
