//! Elements at known distances from one another, as the neighbours of a cell: one address does for all.

use offloom_ir::inkwell::values::{BasicValueEnum, InstructionOpcode, InstructionValue};
use offloom_ir::value_uses::{ValueUse, operand, result, value_uses};

use super::flow::Walk;
use super::rules::{defined_by, others_known, sum_with};

/// Whether the number is added to something that is an index of the same array itself, or has other numbers
/// added to it to be one, as the neighbours of a cell have: these then lie at known distances.
pub(super) fn is_one_of_offsets<'ctx>(walk: &Walk<'_, 'ctx>, value_use: ValueUse<'ctx>) -> bool {
    let Some((sum, cell)) = sum_with(value_use) else {
        return false;
    };
    let instruction = value_use.instruction;
    let arrays = indexed_by(sum);
    let is_of_those = |value| indexed_by(value).iter().any(|array| arrays.contains(array));
    let is_other_sum = |other: ValueUse<'ctx>| {
        matches!(
            other.instruction.get_opcode(),
            InstructionOpcode::Add | InstructionOpcode::Sub
        ) && other.instruction != instruction
            && others_known(walk, other)
            && result(other.instruction).is_some_and(is_of_those)
    };
    is_of_those(cell) || value_uses(cell).into_iter().any(is_other_sum)
}

/// Whether a pointer is computed from one to an element that is itself used: a neighbour of that element.
pub(super) fn is_beside_cell(neighbour: InstructionValue<'_>) -> bool {
    let Some(cell) = operand(neighbour, 0) else {
        return false;
    };
    let is_element =
        defined_by(cell).is_some_and(|cell| cell.get_opcode() == InstructionOpcode::GetElementPtr);
    is_element && value_uses(cell).iter().any(|use_| use_.instruction != neighbour)
}

/// Whether a pointer to known elements further on has the same indices as where it was computed from, or as
/// another such pointer: so LLVM writes neighbours whose distance does not change in a loop.
pub(super) fn is_one_of_arrays<'ctx>(walk: &Walk<'_, 'ctx>, further_on: InstructionValue<'ctx>) -> bool {
    let (Some(pointer), Some(array)) = (result(further_on), operand(further_on, 0)) else {
        return false;
    };
    let indices = indices_of(pointer);
    let has_one_of_those = |pointer| indices_of(pointer).iter().any(|index| indices.contains(index));
    let is_known_distance = |use_: &ValueUse<'ctx>| {
        use_.operand == 0 && use_.instruction != further_on && others_known(walk, *use_)
    };
    let others = value_uses(array).into_iter().filter(is_known_distance);
    has_one_of_those(array)
        || others
            .filter_map(|use_| result(use_.instruction))
            .any(has_one_of_those)
}

/// The indices of a pointer.
fn indices_of(pointer: BasicValueEnum<'_>) -> Vec<BasicValueEnum<'_>> {
    value_uses(pointer)
        .into_iter()
        .filter(|use_| use_.instruction.get_opcode() == InstructionOpcode::GetElementPtr && use_.operand == 0)
        .flat_map(|use_| {
            (1..use_.instruction.get_num_operands()).filter_map(move |index| operand(use_.instruction, index))
        })
        .collect()
}

/// The pointers that a number is added to as an index, maybe a wider one first.
fn indexed_by(index: BasicValueEnum<'_>) -> Vec<BasicValueEnum<'_>> {
    use InstructionOpcode as Opcode;
    let wide = value_uses(index)
        .into_iter()
        .filter(|use_| matches!(use_.instruction.get_opcode(), Opcode::SExt | Opcode::ZExt))
        .filter_map(|use_| result(use_.instruction));
    std::iter::once(index)
        .chain(wide)
        .flat_map(value_uses)
        .filter(|use_| use_.instruction.get_opcode() == Opcode::GetElementPtr && use_.operand > 0)
        .filter_map(|use_| operand(use_.instruction, 0))
        .collect()
}
