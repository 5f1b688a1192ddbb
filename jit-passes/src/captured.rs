//! Loads from local variables that regions capture by reference: what is written once before a region begins,
//! and never again, is known wherever the region reads it.
//!
//! LLVM's own passes lose such a value where the variable's address is handed to the runtime.

use std::collections::{HashMap, HashSet};

use offloom_ir::call_sites::{CallSites, all_call_sites};
use offloom_ir::function_arguments::{as_number, is_copied, known_alignment};
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::{BasicValueEnum, FunctionValue, InstructionValue, PointerValue};
use offloom_ir::pointer_uses::{
    PointerUseKind, dominates, loaded_constant, local_variables, pointer_uses, raise_loaded_alignment,
    replace_load,
};

/// Replaces the loads whose value is a number that is known. Whether there were any.
pub fn fold_captured_loads(module: &Module<'_>) -> bool {
    // All of them before any is replaced: what is stored in one variable may be a load of another.
    let mut found = Vec::new();
    for variable in captured_variables(module) {
        let constants = variable
            .loads
            .iter()
            .filter_map(|load| Some((load.instruction, variable.constant_seen_by(load)?)));
        found.extend(constants);
    }
    let mut changed = false;
    for (load, constant) in found {
        changed |= replace_load(load, constant);
    }
    changed
}

/// Says of loaded pointers how they are aligned, where that is known. Whether that says more than before.
pub fn align_captured_loads(module: &Module<'_>) -> bool {
    let mut changed = false;
    for variable in captured_variables(module) {
        for load in &variable.loads {
            let Some(store) = variable.store_seen_by(load) else {
                continue;
            };
            if let BasicValueEnum::PointerValue(pointer) = store.value
                && (store.offset, store.size) == (load.offset, load.size)
            {
                let alignment = known_alignment(pointer, store.instruction);
                changed |= alignment > 1 && raise_loaded_alignment(load.instruction, alignment);
            }
        }
    }
    changed
}

/// A local variable all of whose uses are known, in its function and in those that get its address.
#[derive(Default)]
struct CapturedVariable<'ctx> {
    stores: Vec<Store<'ctx>>,
    loads: Vec<Load<'ctx>>,
    /// What the variable's function calls when it gives the address away.
    calls: HashSet<InstructionValue<'ctx>>,
}

struct Store<'ctx> {
    instruction: InstructionValue<'ctx>,
    value: BasicValueEnum<'ctx>,
    offset: i64,
    size: u64,
}

struct Load<'ctx> {
    instruction: InstructionValue<'ctx>,
    offset: i64,
    size: u64,
    /// Whether it is in the variable's own function.
    is_own: bool,
}

impl<'ctx> CapturedVariable<'ctx> {
    /// The only store to what the load reads, if it writes all of it and has always been executed before.
    fn store_seen_by(&self, load: &Load<'ctx>) -> Option<&Store<'ctx>> {
        let end = |offset: i64, size: u64| offset.saturating_add_unsigned(size);
        let mut overlapping = self.stores.iter().filter(|store| {
            store.offset < end(load.offset, load.size) && load.offset < end(store.offset, store.size)
        });
        let store = overlapping.next().filter(|_| overlapping.next().is_none())?;
        let covers =
            store.offset <= load.offset && end(load.offset, load.size) <= end(store.offset, store.size);
        let before = |instruction| dominates(store.instruction, instruction);
        let in_time = if load.is_own {
            before(load.instruction)
        } else {
            self.calls.iter().all(|&call| before(call))
        };
        (covers && in_time).then_some(store)
    }

    /// What the load reads, if that is known to be a number.
    fn constant_seen_by(&self, load: &Load<'ctx>) -> Option<BasicValueEnum<'ctx>> {
        let store = self.store_seen_by(load)?;
        let number = as_number(store.value)?;
        loaded_constant(
            load.instruction,
            number,
            (load.offset - store.offset).cast_unsigned(),
        )
    }
}

fn captured_variables<'ctx>(module: &Module<'ctx>) -> Vec<CapturedVariable<'ctx>> {
    let sites = all_call_sites(module);
    let receivers = Receivers::of(&sites);
    module
        .get_functions()
        .flat_map(local_variables)
        .filter_map(|variable| receivers.follow(variable))
        .collect()
}

/// Which parameters get a pointer, by the instruction that hands it over.
struct Receivers<'ctx> {
    parameters: HashMap<(InstructionValue<'ctx>, PointerValue<'ctx>), Vec<Receiver<'ctx>>>,
}

#[derive(Clone, Copy)]
struct Receiver<'ctx> {
    parameter: PointerValue<'ctx>,
    /// The call that leads there.
    call: InstructionValue<'ctx>,
    /// How many ways lead into the parameter's function; there are no others.
    ways: usize,
}

impl<'ctx> Receivers<'ctx> {
    fn of(all: &HashMap<FunctionValue<'ctx>, CallSites<'ctx>>) -> Self {
        let mut parameters: HashMap<_, Vec<_>> = HashMap::new();
        for (&function, sites) in all.iter().filter(|(_, sites)| sites.complete) {
            for site in &sites.known {
                for (index, argument) in (0..).zip(&site.arguments) {
                    let parameter = function.get_nth_param(index);
                    if let (Some(argument), Some(BasicValueEnum::PointerValue(parameter))) =
                        (argument, parameter)
                        && let BasicValueEnum::PointerValue(pointer) = argument.value
                        && !is_copied(function, index)
                    {
                        let key = (argument.handed_over_by, pointer);
                        parameters.entry(key).or_default().push(Receiver {
                            parameter,
                            call: site.call,
                            ways: sites.known.len(),
                        });
                    }
                }
            }
        }
        Self { parameters }
    }

    /// Everything that is done with a local variable; `None` if its address may get to where it cannot be
    /// followed, if a function that gets the address writes through it, or if such a function gets the
    /// address of something else at another time.
    fn follow(&self, variable: PointerValue<'ctx>) -> Option<CapturedVariable<'ctx>> {
        let mut found = CapturedVariable::default();
        let mut reached: HashMap<PointerValue<'ctx>, Reached<'ctx>> = HashMap::new();
        let mut open = vec![(variable, 0)];
        while let Some((pointer, start)) = open.pop() {
            let is_own = pointer == variable;
            for pointer_use in pointer_uses(pointer) {
                let instruction = pointer_use.instruction;
                let offset = start + pointer_use.offset;
                match pointer_use.kind {
                    PointerUseKind::Load { size } => found.loads.push(Load {
                        instruction,
                        offset,
                        size,
                        is_own,
                    }),
                    PointerUseKind::Store { value, size } if is_own => found.stores.push(Store {
                        instruction,
                        value,
                        offset,
                        size,
                    }),
                    PointerUseKind::Passed | PointerUseKind::Stored => {
                        for receiver in self.parameters.get(&(instruction, pointer_use.pointer))? {
                            if is_own {
                                found.calls.insert(receiver.call);
                            }
                            let entry = reached.entry(receiver.parameter).or_insert_with(|| {
                                open.push((receiver.parameter, offset));
                                Reached {
                                    offset,
                                    calls: HashSet::new(),
                                    ways: receiver.ways,
                                }
                            });
                            if entry.offset != offset {
                                return None;
                            }
                            entry.calls.insert(receiver.call);
                        }
                    }
                    PointerUseKind::Store { .. } | PointerUseKind::Other => return None,
                }
            }
        }
        let always_gets_it = |reached: &Reached<'_>| reached.calls.len() == reached.ways;
        (!found.calls.is_empty() && reached.values().all(always_gets_it)).then_some(found)
    }
}

/// A parameter that a variable's address was followed to.
struct Reached<'ctx> {
    /// Bytes from the start of the variable to where the parameter points.
    offset: i64,
    /// The calls that hand the address over.
    calls: HashSet<InstructionValue<'ctx>>,
    /// How many ways there are into the function.
    ways: usize,
}
