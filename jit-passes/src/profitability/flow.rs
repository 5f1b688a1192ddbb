//! Follows what would become a number through a program.

use std::collections::{HashMap, HashSet};

use offloom_abi::jit_bundle::ParameterUses;
use offloom_ir::call_sites::{CallSites, all_call_sites};
use offloom_ir::inkwell::basic_block::BasicBlock;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::{
    BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue, PointerValue,
};
use offloom_ir::loops::{LoopPlace, loop_places};
use offloom_ir::pointer_uses::{PointerUse, PointerUseKind, local_variables, pointer_uses};
use offloom_ir::symbol::Symbol;
use offloom_ir::value_uses::{ValueUse, called_function, result, value_uses};
use offloom_ir::wider_accesses::wider_if_aligned;

use crate::gpu::{is_for_amd, is_for_gpu};

use super::rules::{Effect, advances_by_runtime, effect, ends_behind_start};

/// What the walk needs to know of a module.
pub(super) struct Program<'ctx> {
    /// Parameters that get a value, by the instruction that hands it over.
    receivers: HashMap<(InstructionValue<'ctx>, BasicValueEnum<'ctx>), Vec<BasicValueEnum<'ctx>>>,
    /// What a parameter gets at each call site, as far as that is known, of functions all of whose sites are.
    given: HashMap<BasicValueEnum<'ctx>, Vec<Option<BasicValueEnum<'ctx>>>>,
    sites: HashMap<FunctionValue<'ctx>, CallSites<'ctx>>,
    places: HashMap<BasicBlock<'ctx>, LoopPlace>,
    /// Functions that are called within a loop, perhaps at some distance.
    repeated: HashSet<FunctionValue<'ctx>>,
    /// For each store, a local variable that it uses.
    stored: HashMap<InstructionValue<'ctx>, PointerValue<'ctx>>,
    /// A GPU's threads take turns with iterations, and may have one each.
    pub(super) is_for_gpu: bool,
    /// On NVIDIA GPUs, parameters through which there are accesses that an alignment makes wider.
    wider_if_aligned: HashSet<BasicValueEnum<'ctx>>,
}

impl<'ctx> Program<'ctx> {
    pub(super) fn of(module: &Module<'ctx>) -> Self {
        let sites = all_call_sites(module);
        let mut program = Self {
            receivers: HashMap::new(),
            places: HashMap::new(),
            repeated: HashSet::new(),
            stored: HashMap::new(),
            given: HashMap::new(),
            sites: HashMap::new(),
            is_for_gpu: is_for_gpu(module),
            wider_if_aligned: HashSet::new(),
        };
        // AMD's GPUs take 16 bytes from any address.
        let needs_alignment = program.is_for_gpu && !is_for_amd(module);
        let mut locals = Vec::new();
        for (&function, sites) in &sites {
            program.places.extend(loop_places(function));
            locals.extend(local_variables(function));
            if needs_alignment {
                program.wider_if_aligned.extend(wider_if_aligned(function));
            }
            // Another definition may take its place, and look at more than this one.
            if Symbol::from(function).is_interposable() {
                continue;
            }
            for site in &sites.known {
                if sites.complete {
                    let values = site
                        .arguments
                        .iter()
                        .map(|argument| Some(argument.as_ref()?.value));
                    let values = values.chain(std::iter::repeat(None));
                    for (parameter, value) in function.get_param_iter().zip(values) {
                        program.given.entry(parameter).or_default().push(value);
                    }
                }
                for (index, argument) in (0..).zip(&site.arguments) {
                    if let (Some(argument), Some(parameter)) = (argument, function.get_nth_param(index)) {
                        let key = (argument.handed_over_by, argument.value);
                        program.receivers.entry(key).or_default().push(parameter);
                    }
                }
            }
        }
        program.sites = sites;
        program.stored = program.find_stored(&locals);
        program.find_repeated();
        program
    }

    fn find_stored(
        &self,
        locals: &[PointerValue<'ctx>],
    ) -> HashMap<InstructionValue<'ctx>, PointerValue<'ctx>> {
        let mut stored = HashMap::new();
        for &variable in locals {
            self.each_use(variable, |pointer_use| {
                if pointer_use.instruction.get_opcode() == InstructionOpcode::Store {
                    stored.entry(pointer_use.instruction).or_insert(variable);
                }
            });
        }
        stored
    }

    fn find_repeated(&mut self) {
        loop {
            let more: Vec<_> = self
                .sites
                .iter()
                .filter(|(function, sites)| {
                    !self.repeated.contains(*function)
                        && sites
                            .known
                            .iter()
                            // The runtime begins a region once for each share of a loop, not once for each
                            // iteration.
                            .filter(|site| called_function(site.call) == Some(**function))
                            .any(|site| self.is_repeated(site.call))
                })
                .map(|(&function, _)| function)
                .collect();
            if more.is_empty() {
                return;
            }
            self.repeated.extend(more);
        }
    }

    /// The parameters that get the value from this instruction.
    pub(super) fn receivers(
        &self,
        instruction: InstructionValue<'ctx>,
        value: BasicValueEnum<'ctx>,
    ) -> &[BasicValueEnum<'ctx>] {
        self.receivers
            .get(&(instruction, value))
            .map_or(&[], Vec::as_slice)
    }

    /// Whether the instruction is executed over and over in one execution of the kernel by one thread.
    pub(super) fn is_repeated(&self, instruction: InstructionValue<'ctx>) -> bool {
        let Some(block) = instruction.get_parent() else {
            return false;
        };
        self.place(block) != LoopPlace::Outside
            || block
                .get_parent()
                .is_some_and(|function| self.repeated.contains(&function))
    }

    /// Whether the instruction decides if a loop goes on.
    pub(super) fn leaves_loop(&self, instruction: InstructionValue<'ctx>) -> bool {
        instruction
            .get_parent()
            .is_some_and(|block| self.place(block) == LoopPlace::Exiting)
    }

    fn place(&self, block: BasicBlock<'ctx>) -> LoopPlace {
        self.places.get(&block).copied().unwrap_or(LoopPlace::Outside)
    }

    /// What numbers in these places are good for, where `others` are numbers too.
    pub(super) fn uses(
        &self,
        values: impl IntoIterator<Item = BasicValueEnum<'ctx>>,
        others: &HashSet<BasicValueEnum<'ctx>>,
    ) -> ParameterUses {
        Walk::follow(self, values, others).uses
    }

    /// The loads at known offsets from a pointer, here and in the functions that get it.
    pub(super) fn loads_from(&self, object: PointerValue<'ctx>) -> Vec<PointerUse<'ctx>> {
        let mut loads = Vec::new();
        self.each_use(object, |pointer_use| {
            if let PointerUseKind::Load { .. } = pointer_use.kind {
                loads.push(pointer_use);
            }
        });
        loads
    }

    /// Whether an alignment of the pointer makes accesses wider, here or in the functions that get it.
    pub(super) fn is_wider_if_aligned(&self, object: PointerValue<'ctx>) -> bool {
        let mut is_wider = self.wider_if_aligned.contains(&object.into());
        self.each_use(object, |pointer_use| {
            let mut receivers = self
                .receivers(pointer_use.instruction, pointer_use.pointer.into())
                .iter();
            is_wider |= receivers.any(|receiver| self.wider_if_aligned.contains(receiver));
        });
        is_wider
    }

    /// Whether `is_known` holds for all that a parameter gets.
    pub(super) fn always_gets(
        &self,
        parameter: BasicValueEnum<'ctx>,
        is_known: impl Fn(BasicValueEnum<'ctx>) -> bool,
    ) -> bool {
        self.given
            .get(&parameter)
            .is_some_and(|given| given.iter().all(|value| value.is_some_and(&is_known)))
    }

    /// The calls whose result a function returns by this instruction.
    pub(super) fn calls_that_get(&self, from: InstructionValue<'ctx>) -> Vec<InstructionValue<'ctx>> {
        let function = from.get_parent().and_then(BasicBlock::get_parent);
        let sites = function.and_then(|function| self.sites.get(&function));
        let sites = sites.into_iter().flat_map(|sites| &sites.known);
        sites.map(|site| site.call).collect()
    }

    fn each_use(&self, object: PointerValue<'ctx>, mut visit: impl FnMut(PointerUse<'ctx>)) {
        let mut seen = HashSet::from([object]);
        let mut open = vec![(object, 0)];
        while let Some((pointer, start)) = open.pop() {
            for mut pointer_use in pointer_uses(pointer) {
                pointer_use.offset += start;
                for &receiver in self.receivers(pointer_use.instruction, pointer_use.pointer.into()) {
                    if let BasicValueEnum::PointerValue(parameter) = receiver
                        && seen.insert(parameter)
                    {
                        open.push((parameter, pointer_use.offset));
                    }
                }
                visit(pointer_use);
            }
        }
    }

    /// The loads that find what `store` wrote to a local variable, if nothing else writes there.
    pub(super) fn loads_of_stored(&self, store: InstructionValue<'ctx>) -> Vec<InstructionValue<'ctx>> {
        let Some(&variable) = self.stored.get(&store) else {
            return Vec::new();
        };
        let mut uses = Vec::new();
        self.each_use(variable, |pointer_use| uses.push(pointer_use));
        let Some(written) = uses.iter().find(|use_| use_.instruction == store) else {
            return Vec::new();
        };
        let offset = written.offset;
        let is_other_store = |use_: &&PointerUse<'ctx>| {
            matches!(use_.kind, PointerUseKind::Store { .. })
                && use_.offset == offset
                && use_.instruction != store
        };
        let is_changed_elsewhere = uses.iter().any(|use_| match use_.kind {
            PointerUseKind::Passed | PointerUseKind::Stored => {
                self.receivers(use_.instruction, use_.pointer.into()).is_empty()
            }
            PointerUseKind::Other => true,
            PointerUseKind::Load { .. } | PointerUseKind::Store { .. } => false,
        });
        if is_changed_elsewhere || uses.iter().any(|use_| is_other_store(&use_)) {
            return Vec::new();
        }
        uses.into_iter()
            .filter(|use_| matches!(use_.kind, PointerUseKind::Load { .. }) && use_.offset == offset)
            .map(|use_| use_.instruction)
            .collect()
    }
}

/// Values that depend on the argument.
pub(super) struct Walk<'program, 'ctx> {
    program: &'program Program<'ctx>,
    /// What would be a number because of what is followed.
    numbers: HashSet<BasicValueEnum<'ctx>>,
    /// What would be one because of other arguments: a product of two extents is known where both are.
    others: &'program HashSet<BasicValueEnum<'ctx>>,
    /// What would be something unknown times a number, perhaps plus something.
    multiples: HashSet<BasicValueEnum<'ctx>>,
    open: Vec<BasicValueEnum<'ctx>>,
    uses: ParameterUses,
}

impl<'program, 'ctx> Walk<'program, 'ctx> {
    /// Follows these values, and what comes of them, to their end.
    fn follow(
        program: &'program Program<'ctx>,
        values: impl IntoIterator<Item = BasicValueEnum<'ctx>>,
        others: &'program HashSet<BasicValueEnum<'ctx>>,
    ) -> Self {
        let mut walk = Self {
            program,
            numbers: HashSet::new(),
            others,
            multiples: HashSet::new(),
            open: Vec::new(),
            uses: ParameterUses::NONE,
        };
        for value in values {
            walk.add_number(value);
        }
        while let Some(value) = walk.open.pop() {
            for value_use in value_uses(value) {
                walk.visit(value, value_use);
            }
        }
        walk
    }

    fn add_number(&mut self, value: BasicValueEnum<'ctx>) {
        if self.numbers.insert(value) {
            self.open.push(value);
        }
    }

    /// Whether the value would be a number because of what is followed.
    pub(super) fn is_number(&self, value: BasicValueEnum<'ctx>) -> bool {
        self.numbers.contains(&value)
    }

    pub(super) fn is_for_gpu(&self) -> bool {
        self.program.is_for_gpu
    }

    /// Whether the value would be a number, for whatever reason.
    pub(super) fn is_known(&self, value: BasicValueEnum<'ctx>) -> bool {
        self.is_number(value) || self.others.contains(&value)
    }

    fn add_multiple(&mut self, value: BasicValueEnum<'ctx>) {
        if self.multiples.insert(value) {
            self.open.push(value);
        }
    }

    fn visit(&mut self, value: BasicValueEnum<'ctx>, value_use: ValueUse<'ctx>) {
        let ValueUse { instruction, .. } = value_use;
        for &parameter in self.program.receivers(instruction, value) {
            if self.is_number(value) {
                self.add_number(parameter);
            } else {
                self.add_multiple(parameter);
            }
        }
        if instruction.get_opcode() == InstructionOpcode::Store && self.is_number(value) {
            for load in self.program.loads_of_stored(instruction) {
                if let Some(loaded) = result(load) {
                    self.add_number(loaded);
                }
            }
            return;
        }
        if instruction.get_opcode() == InstructionOpcode::Return && self.is_number(value) {
            for call in self.program.calls_that_get(instruction) {
                self.add_result(call, Self::add_number);
            }
            return;
        }
        match effect(self, value_use) {
            Effect::Nothing => {}
            Effect::Number => self.add_result(instruction, Self::add_number),
            Effect::Multiple => self.add_result(instruction, Self::add_multiple),
            Effect::Use(found) => self.note(instruction, found),
            Effect::UseAndNumber(found) => {
                self.note(instruction, found);
                self.add_result(instruction, Self::add_number);
            }
            Effect::UseAndMultiple(found) => {
                self.note(instruction, found);
                self.add_result(instruction, Self::add_multiple);
            }
            Effect::Compared => self.note_comparison(instruction),
            Effect::LoopStart(comparisons) => {
                for comparison in comparisons {
                    self.note_comparison(comparison);
                }
            }
        }
    }

    /// Notes a loop bound if the comparison decides whether a loop goes on, unless it is one that the runtime
    /// splits: how often it goes round on a processor is then not known, whatever its end is. On a GPU a
    /// thread's own iterations are known from the launch, and may be one.
    fn note_comparison(&mut self, comparison: InstructionValue<'ctx>) {
        if (!self.program.is_for_gpu && advances_by_runtime(comparison))
            || ends_behind_start(self, comparison)
        {
            return;
        }
        let leaves = result(comparison)
            .into_iter()
            .flat_map(value_uses)
            .any(|decides| self.program.leaves_loop(decides.instruction));
        if leaves {
            self.uses = self.uses.with(ParameterUses::LOOP_BOUND);
        }
    }

    fn add_result(&mut self, instruction: InstructionValue<'ctx>, add: fn(&mut Self, BasicValueEnum<'ctx>)) {
        if let Some(value) = result(instruction) {
            add(self, value);
        }
    }

    fn note(&mut self, instruction: InstructionValue<'ctx>, found: ParameterUses) {
        if self.program.is_repeated(instruction) {
            self.uses = self.uses.with(found);
        }
    }
}
