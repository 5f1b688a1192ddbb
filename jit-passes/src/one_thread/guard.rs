//! The function that decides, where a region begins, whether its body is called directly.

use offloom_ir::call_rewriting::replace_instruction;
use offloom_ir::inkwell::IntPredicate;
use offloom_ir::inkwell::attributes::AttributeLoc;
use offloom_ir::inkwell::builder::{Builder, BuilderError};
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::types::{BasicMetadataTypeEnum, FunctionType};
use offloom_ir::inkwell::values::{
    BasicMetadataValueEnum, BasicValueEnum, FunctionValue, InstructionValue, IntValue,
};
use offloom_ir::memory_effects::{Object, underlying_objects, written_pointers};
use offloom_ir::symbol::{Symbol, find};
use offloom_ir::value_uses::{called_function, is_constant_operand, operand};

use super::body::{BEFORE_CAPTURED, Level, build_call, captured, takes};
use super::{Region, called_name};
use crate::ahead_of_time;

/// What follows the name of a region's function in the name of the one that decides.
const BEGIN_SUFFIX: &str = ".begin";

/// String attribute that says of a function's callers and callees what does not hold of the one that decides:
/// it asks the runtime.
const ASSUMPTIONS: &str = "llvm.assume";

/// When the runtime would form a team of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// When a region gets one thread unless it asks for more.
    OneThread,
    /// When it asks for one, by this operand of the call that says how many threads.
    AskedThreads(u32),
    /// When a region gets one thread, and as many teams are asked for by this operand as one, or none and one
    /// is what there is then.
    AskedTeams(u32),
    /// When a region gets one thread, and leagues one team.
    OneTeam,
}

/// When the region would get one team of one thread; `None` where that cannot be said.
pub fn condition_of(region: &Region<'_>) -> Option<Condition> {
    if !takes(region.body, region.fork) {
        return None;
    }
    let said = region.said_before.and_then(called_name);
    if region.said_before.is_some_and(|call| call.get_num_operands() < 4) {
        return None;
    }
    // `(location, thread, threads)`; `(location, thread, teams, limit)`; `(location, thread, least, most,
    // limit)`.
    match (region.level, said.as_deref()) {
        (Level::Parallel, None) => Some(Condition::OneThread),
        (Level::Parallel, Some("__kmpc_push_num_threads")) => Some(Condition::AskedThreads(2)),
        (Level::Teams, None) => Some(Condition::OneTeam),
        (Level::Teams, Some("__kmpc_push_num_teams")) => Some(Condition::AskedTeams(2)),
        (Level::Teams, Some("__kmpc_push_num_teams_51")) => Some(Condition::AskedTeams(3)),
        _ => None,
    }
}

/// What a region's clauses ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// One team or thread, or as many as there are by default.
    One,
    /// More.
    More,
    /// As many as a value that is not known.
    Unknown,
}

impl Condition {
    /// What the region's clauses ask for.
    pub fn asked(self, region: &Region<'_>) -> Asked {
        let (index, means_default) = match self {
            Self::OneThread | Self::OneTeam => return Asked::One,
            Self::AskedThreads(index) => (index, None),
            Self::AskedTeams(index) => (index, Some(0)),
        };
        match region.said_before.and_then(|call| operand(call, index)) {
            Some(BasicValueEnum::IntValue(number)) => match number.get_zero_extended_constant() {
                Some(number) if number == 1 || Some(number) == means_default => Asked::One,
                Some(_) => Asked::More,
                None => Asked::Unknown,
            },
            _ => Asked::Unknown,
        }
    }
}

/// What is done where the condition does not hold.
#[derive(Debug, Clone, Copy)]
pub enum Otherwise<'ctx> {
    /// The region begins as it did.
    Region,
    /// The kernel's ahead-of-time code is run.
    AheadOfTime {
        /// The kernel, of which the region is all.
        kernel: FunctionValue<'ctx>,
        /// The code.
        code: FunctionValue<'ctx>,
    },
}

impl<'ctx> Otherwise<'ctx> {
    /// The kernel's ahead-of-time code, if there is one and it would do just what is left to do. Not where a
    /// number that differs from launch to launch may ask for more: a program with one thread would come to it
    /// often.
    pub fn of(
        module: &Module<'ctx>,
        kernel: FunctionValue<'ctx>,
        region: &Region<'ctx>,
        asked: Asked,
    ) -> Self {
        let is_rare = asked == Asked::One && is_all_that_happens(kernel, region);
        let code = is_rare.then(|| ahead_of_time::declare(module, kernel)).flatten();
        code.map_or(Self::Region, |code| Self::AheadOfTime { kernel, code })
    }
}

/// Whether the kernel does nothing but begin the region, so that it can be begun again when it comes to that.
fn is_all_that_happens<'ctx>(kernel: FunctionValue<'ctx>, region: &Region<'ctx>) -> bool {
    let blocks = kernel.get_basic_blocks();
    let [block] = blocks.as_slice() else {
        return false;
    };
    let mut found = false;
    for instruction in block.get_instructions() {
        if instruction == region.fork {
            found = true;
        } else if Some(instruction) != region.said_before && !is_unnoticed(instruction) {
            return false;
        }
    }
    found
}

/// Whether nobody but the function itself can tell how often the instruction was executed.
fn is_unnoticed(instruction: InstructionValue<'_>) -> bool {
    if let Some(callee) = called_function(instruction)
        && !Symbol::from(callee).is_intrinsic()
    {
        return Symbol::from(callee).name() == "__kmpc_global_thread_num";
    }
    let written = written_pointers(instruction, false);
    written.is_some_and(|pointers| {
        let mut objects = pointers.into_iter().flat_map(underlying_objects);
        objects.all(|object| object == Object::Local)
    })
}

/// Has the region begin with a function that calls `body` directly, if the condition holds, and otherwise
/// does what `otherwise` says.
///
/// # Errors
/// When an instruction cannot be built.
pub fn decide_at_run_time<'ctx>(
    module: &Module<'ctx>,
    region: &Region<'ctx>,
    condition: Condition,
    body: FunctionValue<'ctx>,
    otherwise: Otherwise<'ctx>,
) -> Result<(), BuilderError> {
    let said: Vec<_> = region.said_before.into_iter().flat_map(arguments).collect();
    // Not the region's function, where that is of no use any more.
    let (forked, before_captured, of_kernel) = match otherwise {
        Otherwise::Region => (arguments(region.fork).collect(), BEFORE_CAPTURED, Vec::new()),
        Otherwise::AheadOfTime { kernel, .. } => {
            let location = operand(region.fork, 0);
            let forked: Vec<_> = location.into_iter().chain(captured(region.fork)).collect();
            (forked, 1, kernel.get_params())
        }
    };
    let given: Vec<_> = [said.as_slice(), &forked, &of_kernel].concat();
    let types: Vec<BasicMetadataTypeEnum<'ctx>> = given.iter().map(|value| value.get_type().into()).collect();
    let context = module.get_context();
    let function = module.add_function(
        &format!("{}{BEGIN_SUFFIX}", Symbol::from(region.body).name()),
        context.void_type().fn_type(&types, false),
        Some(Linkage::Internal),
    );
    let [entry, direct, formed] =
        ["entry", "direct", "formed"].map(|name| context.append_basic_block(function, name));
    // Where it is inlined, the kernel is for the processor and the vectors that it was for.
    for attribute in region.body.attributes(AttributeLoc::Function) {
        if attribute.is_string() && attribute.get_string_kind_id().to_bytes() != ASSUMPTIONS.as_bytes() {
            function.add_attribute(AttributeLoc::Function, attribute);
        }
    }
    let parameters = function.get_params();
    let (of_said, others) = parameters.split_at(said.len());
    let (of_fork, of_kernel) = others.split_at(forked.len());

    let builder = context.create_builder();
    builder.position_at_end(entry);
    let one = build_condition(module, &builder, condition, of_said)?;
    builder.build_conditional_branch(one, direct, formed)?;

    builder.position_at_end(direct);
    let captured = of_fork.get(before_captured as usize..).unwrap_or_default();
    build_call(
        module,
        &builder,
        function,
        None,
        body,
        of_fork.first().copied(),
        captured,
    )?;
    builder.build_return(None)?;

    builder.position_at_end(formed);
    match otherwise {
        Otherwise::Region => {
            if let Some(call) = region.said_before {
                repeat(&builder, call, of_said)?;
            }
            repeat(&builder, region.fork, of_fork)?;
        }
        Otherwise::AheadOfTime { code, .. } => {
            let call = builder.build_call(code, &metadata_values(of_kernel), "")?;
            call.set_call_convention(code.get_call_conventions());
        }
    }
    builder.build_return(None)?;

    builder.position_before(&region.fork);
    builder.build_call(function, &metadata_values(&given), "")?;
    replace_instruction(region.fork, None);
    if let Some(call) = region.said_before {
        replace_instruction(call, None);
    }
    Ok(())
}

fn metadata_values<'ctx>(values: &[BasicValueEnum<'ctx>]) -> Vec<BasicMetadataValueEnum<'ctx>> {
    values.iter().map(|&value| value.into()).collect()
}

/// Calls what `call` calls, with these arguments; what is constant stays so.
fn repeat<'ctx>(
    builder: &Builder<'ctx>,
    call: InstructionValue<'ctx>,
    given: &[BasicValueEnum<'ctx>],
) -> Result<(), BuilderError> {
    if let Some(callee) = called_function(call) {
        let given: Vec<BasicMetadataValueEnum<'ctx>> = (0..)
            .zip(given)
            .map(|(index, &argument)| {
                let constant = operand(call, index).filter(|_| is_constant_operand(call, index));
                constant.unwrap_or(argument).into()
            })
            .collect();
        builder.build_call(callee, &given, "")?;
    }
    Ok(())
}

fn build_condition<'ctx>(
    module: &Module<'ctx>,
    builder: &Builder<'ctx>,
    condition: Condition,
    said: &[BasicValueEnum<'ctx>],
) -> Result<IntValue<'ctx>, BuilderError> {
    let int = module.get_context().i32_type();
    let (zero, one) = (int.const_zero(), int.const_int(1, false));
    let asked = |index: u32| match said.get(index as usize) {
        Some(&BasicValueEnum::IntValue(value)) if value.get_type() == int => value,
        // More than one, of which nothing is known.
        _ => int.const_all_ones(),
    };
    let is = |value, number| builder.build_int_compare(IntPredicate::EQ, value, number, "");
    if let Condition::AskedThreads(index) = condition {
        return is(asked(index), one);
    }
    let one_thread = is(ask(module, builder, "omp_get_max_threads")?, one)?;
    let teams = || -> Result<IntValue<'ctx>, BuilderError> {
        let most = ask(module, builder, "omp_get_max_teams")?;
        builder.build_int_compare(IntPredicate::SLE, most, one, "")
    };
    let one_team = match condition {
        Condition::OneThread | Condition::AskedThreads(_) => return Ok(one_thread),
        Condition::OneTeam => teams()?,
        Condition::AskedTeams(index) => {
            let asked = asked(index);
            let without = builder.build_and(is(asked, zero)?, teams()?, "")?;
            builder.build_or(is(asked, one)?, without, "")?
        }
    };
    builder.build_and(one_thread, one_team, "one_team_of_one_thread")
}

/// The runtime function's declaration.
pub(super) fn runtime_function<'ctx>(
    module: &Module<'ctx>,
    name: &str,
    function_type: FunctionType<'ctx>,
) -> FunctionValue<'ctx> {
    find(module, name)
        .and_then(Symbol::as_function)
        .filter(|function| function.get_type() == function_type)
        .unwrap_or_else(|| module.add_function(name, function_type, None))
}

/// Calls a function of the runtime that returns a number.
fn ask<'ctx>(
    module: &Module<'ctx>,
    builder: &Builder<'ctx>,
    name: &str,
) -> Result<IntValue<'ctx>, BuilderError> {
    let int = module.get_context().i32_type();
    let function = runtime_function(module, name, int.fn_type(&[], false));
    let asked = builder
        .build_call(function, &[], "")?
        .try_as_basic_value()
        .basic();
    Ok(match asked {
        Some(BasicValueEnum::IntValue(number)) => number,
        _ => int.const_zero(),
    })
}

/// What a call hands over.
fn arguments<'ctx>(call: InstructionValue<'ctx>) -> impl Iterator<Item = BasicValueEnum<'ctx>> {
    (0..call.get_num_operands().saturating_sub(1)).filter_map(move |index| operand(call, index))
}
