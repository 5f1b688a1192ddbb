//! What is known wherever arguments are, whichever way a program takes.

use std::collections::HashSet;

use offloom_ir::inkwell::basic_block::BasicBlock;
use offloom_ir::inkwell::values::{BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue};
use offloom_ir::value_uses::{ValueUse, is_constant, operand, result, value_uses};

use super::flow::Program;
use super::rules::{is_computed, others_are};

/// All that is a number where `values` are, with them: what they are computed to, hand over to functions from
/// everywhere, and are returned as by every way out. Not what a branch chooses.
pub(super) fn known_with<'ctx>(
    program: &Program<'ctx>,
    values: impl IntoIterator<Item = BasicValueEnum<'ctx>>,
) -> HashSet<BasicValueEnum<'ctx>> {
    let mut known = HashSet::new();
    let mut open = Vec::new();
    let add = |known: &mut HashSet<_>, open: &mut Vec<_>, value| {
        if known.insert(value) {
            open.push(value);
        }
    };
    for value in values {
        add(&mut known, &mut open, value);
    }
    while let Some(value) = open.pop() {
        for value_use in value_uses(value) {
            for found in follows(program, &known, value, value_use) {
                add(&mut known, &mut open, found);
            }
        }
    }
    known
}

/// What one more known value makes known by an instruction that uses it.
fn follows<'ctx>(
    program: &Program<'ctx>,
    known: &HashSet<BasicValueEnum<'ctx>>,
    value: BasicValueEnum<'ctx>,
    value_use: ValueUse<'ctx>,
) -> Vec<BasicValueEnum<'ctx>> {
    let instruction = value_use.instruction;
    let is_known = |value: BasicValueEnum<'ctx>| is_constant(value) || known.contains(&value);
    let parameters = program.receivers(instruction, value).iter().copied();
    let mut found: Vec<_> = parameters
        .filter(|&parameter| program.always_gets(parameter, is_known))
        .collect();
    match instruction.get_opcode() {
        InstructionOpcode::Store => {
            let loads = program.loads_of_stored(instruction);
            found.extend(loads.into_iter().filter_map(result));
        }
        InstructionOpcode::Return if returns_only(instruction, is_known) => {
            let calls = program.calls_that_get(instruction);
            found.extend(calls.into_iter().filter_map(result));
        }
        _ if is_computed(instruction) && others_are(value_use, is_known) => found.extend(result(instruction)),
        _ => {}
    }
    found
}

/// Whether all that the function of an instruction returns is known.
fn returns_only<'ctx>(
    instruction: InstructionValue<'ctx>,
    is_known: impl Fn(BasicValueEnum<'ctx>) -> bool,
) -> bool {
    let function = instruction.get_parent().and_then(BasicBlock::get_parent);
    let ends = function
        .into_iter()
        .flat_map(FunctionValue::get_basic_blocks)
        .filter_map(BasicBlock::get_terminator);
    ends.filter(|end| end.get_opcode() == InstructionOpcode::Return)
        .all(|end| operand(end, 0).is_some_and(&is_known))
}
