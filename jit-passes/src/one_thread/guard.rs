//! The function that decides, where a region begins, whether its body is called directly.

use offloom_ir::call_rewriting::replace_instruction;
use offloom_ir::inkwell::IntPredicate;
use offloom_ir::inkwell::builder::{Builder, BuilderError};
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::types::{BasicMetadataTypeEnum, FunctionType};
use offloom_ir::inkwell::values::{
    BasicMetadataValueEnum, BasicValueEnum, FunctionValue, InstructionValue, IntValue,
};
use offloom_ir::jit_globals::{Global, find};
use offloom_ir::value_uses::{called_function, is_constant_operand, operand};

use super::body::{BEFORE_CAPTURED, Level, build_call, takes};
use super::{Region, called_name};

/// What follows the name of a region's function in the name of the one that decides.
const SUFFIX: &str = ".begin";

/// When the runtime would form a team of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// When a region gets one thread unless it asks for more.
    OneThread,
    /// When it asks for one, by this operand of the call that says how many threads.
    AskedThreads(u32),
    /// When a region gets one thread, and as many teams are asked for by this operand as one, or none and one is what there is then.
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
    // `(location, thread, threads)`; `(location, thread, teams, limit)`; `(location, thread, least, most, limit)`.
    match (region.level, said.as_deref()) {
        (Level::Parallel, None) => Some(Condition::OneThread),
        (Level::Parallel, Some("__kmpc_push_num_threads")) => Some(Condition::AskedThreads(2)),
        (Level::Teams, None) => Some(Condition::OneTeam),
        (Level::Teams, Some("__kmpc_push_num_teams")) => Some(Condition::AskedTeams(2)),
        (Level::Teams, Some("__kmpc_push_num_teams_51")) => Some(Condition::AskedTeams(3)),
        _ => None,
    }
}

/// Has the region begin with a function that calls `body` directly, if the condition holds, and otherwise does what was done before.
///
/// # Errors
/// When an instruction cannot be built.
pub fn decide_at_run_time<'ctx>(
    module: &Module<'ctx>,
    region: &Region<'ctx>,
    body: FunctionValue<'ctx>,
) -> Result<(), BuilderError> {
    let Some(condition) = condition_of(region) else {
        return Ok(());
    };
    let said: Vec<_> = region.said_before.into_iter().flat_map(arguments).collect();
    let forked: Vec<_> = arguments(region.fork).collect();
    let given: Vec<_> = said.iter().chain(&forked).copied().collect();
    let types: Vec<BasicMetadataTypeEnum<'ctx>> = given.iter().map(|value| value.get_type().into()).collect();
    let context = module.get_context();
    let function = module.add_function(
        &format!("{}{SUFFIX}", Global::from(region.body).name()),
        context.void_type().fn_type(&types, false),
        Some(Linkage::Internal),
    );
    let [entry, direct, formed] =
        ["entry", "direct", "formed"].map(|name| context.append_basic_block(function, name));
    let parameters = function.get_params();
    let (of_said, of_fork) = parameters.split_at(said.len());

    let builder = context.create_builder();
    builder.position_at_end(entry);
    let one = build_condition(module, &builder, condition, of_said)?;
    builder.build_conditional_branch(one, direct, formed)?;

    builder.position_at_end(direct);
    let captured = of_fork.get(BEFORE_CAPTURED as usize..).unwrap_or_default();
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
    if let Some(call) = region.said_before {
        repeat(&builder, call, of_said)?;
    }
    repeat(&builder, region.fork, of_fork)?;
    builder.build_return(None)?;

    builder.position_before(&region.fork);
    let given: Vec<BasicMetadataValueEnum<'ctx>> = given.into_iter().map(Into::into).collect();
    builder.build_call(function, &given, "")?;
    replace_instruction(region.fork, None);
    if let Some(call) = region.said_before {
        replace_instruction(call, None);
    }
    Ok(())
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
        .and_then(Global::as_function)
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
