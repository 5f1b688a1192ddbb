//! What one instruction makes of a number.

use offloom_abi::jit_bundle::ParameterUses;
use offloom_ir::inkwell::values::{BasicValueEnum, InstructionOpcode, InstructionValue, PhiValue};
use offloom_ir::memory_effects::{Object, underlying_objects};
use offloom_ir::symbol::Symbol;
use offloom_ir::value_uses::{
    ValueUse, called_function, is_constant_operand, may_overflow, operand, result, value_uses,
};

use super::flow::Walk;
use super::neighbours::{is_beside_cell, is_one_of_arrays, is_one_of_offsets};

/// What follows from an operand that is a number or a multiple.
pub(super) enum Effect<'ctx> {
    /// Nothing that a constant would change.
    Nothing,
    /// The result is a number too.
    Number,
    /// The result is a multiple of a number.
    Multiple,
    /// A use where a constant makes a difference.
    Use(ParameterUses),
    /// Such a use, with a number as its result.
    UseAndNumber(ParameterUses),
    /// Such a use, with a multiple as its result.
    UseAndMultiple(ParameterUses),
    /// The result compares a number with something unknown.
    Compared,
    /// The number is where a loop's variable starts, which these comparisons with known values stop.
    LoopStart(Vec<InstructionValue<'ctx>>),
}

/// Functions of the mathematics library, and LLVM's intrinsics for them, without the suffixes for other
/// types.
const MATH_FUNCTIONS: [&str; 30] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
    "exp10", "exp2", "expm1", "fmod", "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "pow",
    "powi", "sin", "sinh", "tan", "tanh",
];

/// Bytes of its operand that the instruction looks at, if it is one that looks at the low ones alone.
pub(super) fn low_bytes(instruction: InstructionValue<'_>) -> Option<u8> {
    let bits = low_bits(instruction)?;
    Some(bits.div_ceil(8).clamp(1, 8) as u8)
}

/// Bits of its operand that the instruction looks at, if it is one that looks at the low ones alone.
fn low_bits(instruction: InstructionValue<'_>) -> Option<u32> {
    let result = result(instruction)?;
    let BasicValueEnum::IntValue(number) = result else {
        return None;
    };
    let width = number.get_type().get_bit_width();
    let uses = value_uses(result).into_iter().map(|use_| use_.instruction);
    match instruction.get_opcode() {
        // A narrower number may first be cut to the width of an `int`, and then to its own by what uses that.
        InstructionOpcode::Trunc => {
            let bits = uses.map(|user| low_bits(user).unwrap_or(width));
            Some(bits.max().unwrap_or(width))
        }
        // Low bits of a sum are made of low bits: LLVM 23 adds words and cuts the sum. Sums of sums are not
        // followed.
        InstructionOpcode::Add | InstructionOpcode::Sub if may_overflow(instruction) => uses
            .map(|user| match user.get_opcode() {
                InstructionOpcode::Add | InstructionOpcode::Sub => width,
                _ => low_bits(user).unwrap_or(width),
            })
            .max(),
        InstructionOpcode::And => Some(u64::BITS - constant_operand(instruction, 1)?.leading_zeros()),
        // The first half of extending a sign. With a promise not to overflow, the bits that are shifted out
        // count.
        InstructionOpcode::Shl if may_overflow(instruction) => {
            let distance = u32::try_from(constant_operand(instruction, 1)?).ok()?;
            width.checked_sub(distance)
        }
        _ => None,
    }
}

fn constant_operand(instruction: InstructionValue<'_>, index: u32) -> Option<u64> {
    match operand(instruction, index)? {
        BasicValueEnum::IntValue(number) => number.get_zero_extended_constant(),
        _ => None,
    }
}

/// What the instruction makes of the value that it uses.
pub(super) fn effect<'ctx>(walk: &Walk<'_, 'ctx>, value_use: ValueUse<'ctx>) -> Effect<'ctx> {
    use InstructionOpcode as Opcode;
    let ValueUse {
        instruction,
        operand: index,
    } = value_use;
    let is_number = operand(instruction, index).is_some_and(|value| walk.is_number(value));
    let others_known = others_known(walk, value_use);
    match instruction.get_opcode() {
        opcode if is_conversion(opcode) => same(is_number),
        Opcode::GetElementPtr if !is_number => Effect::Use(ParameterUses::ADDRESS_STRIDE),
        Opcode::GetElementPtr if index > 0 && is_beside_cell(instruction) => {
            Effect::Use(ParameterUses::ADDRESS_STRIDE)
        }
        Opcode::GetElementPtr if index > 0 && is_one_of_arrays(walk, instruction) => Effect::Multiple,
        Opcode::Mul if !is_number || !others_known => Effect::Multiple,
        Opcode::Add if is_number && is_step(value_use) => Effect::Use(ParameterUses::ADDRESS_STRIDE),
        Opcode::Add | Opcode::Sub | Opcode::Or if !is_number => Effect::Multiple,
        Opcode::Shl if !is_number && index == 0 => Effect::Multiple,
        Opcode::AShr | Opcode::And if !is_number && index == 0 && extends(instruction) => Effect::Multiple,
        // What is left needs a number.
        _ if !is_number => Effect::Nothing,
        _ if index == 0 && instruction.is_conditional().unwrap_or(false) => {
            Effect::Use(ParameterUses::BRANCH)
        }
        Opcode::Switch if index == 0 => Effect::Use(ParameterUses::SWITCH),
        Opcode::Select if index == 0 && others_known => Effect::UseAndNumber(ParameterUses::BRANCH),
        Opcode::Select if index == 0 => Effect::Use(ParameterUses::BRANCH),
        Opcode::ICmp if !others_known => Effect::Compared,
        Opcode::Shl if index == 1 && !others_known => Effect::UseAndMultiple(ParameterUses::SHIFT),
        Opcode::LShr | Opcode::AShr if index == 1 && !others_known => Effect::Use(ParameterUses::SHIFT),
        Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem if index == 1 && !others_known => {
            Effect::Use(ParameterUses::DIVISION)
        }
        Opcode::Call | Opcode::Invoke => of_call(walk, instruction, others_known),
        Opcode::Add | Opcode::Sub if !others_known && is_one_of_offsets(walk, value_use) => Effect::Multiple,
        // Which of several arguments it is, a branch decides.
        Opcode::Phi if others_are(value_use, |value| walk.is_number(value)) => Effect::Number,
        Opcode::Phi => Effect::LoopStart(stopping_comparisons(walk, instruction)),
        opcode if is_computation(opcode) && others_known => Effect::Number,
        _ => Effect::Nothing,
    }
}

/// Whether low bits of the first operand become a wide number: LLVM shifts them to the left and back, with
/// sums and products in between, or masks them.
fn extends(instruction: InstructionValue<'_>) -> bool {
    use InstructionOpcode as Opcode;
    let Some(number) = constant_operand(instruction, 1) else {
        return false;
    };
    if instruction.get_opcode() == Opcode::And {
        return number == u64::from(u32::MAX);
    }
    // Expressions are small, and this is but advice.
    let mut open = vec![(instruction, 3)];
    while let Some((instruction, depth)) = open.pop() {
        let operands =
            (0..operand_count(instruction)).filter_map(|index| defined_by(operand(instruction, index)?));
        for operand in operands {
            match operand.get_opcode() {
                Opcode::Shl if constant_operand(operand, 1) == Some(number) => return true,
                Opcode::Add | Opcode::Sub | Opcode::Mul if depth > 0 => open.push((operand, depth - 1)),
                _ => {}
            }
        }
    }
    false
}

fn same<'ctx>(is_number: bool) -> Effect<'ctx> {
    if is_number {
        Effect::Number
    } else {
        Effect::Multiple
    }
}

/// Whether the other operands are constants or numbers too, for whatever reason.
pub(super) fn others_known<'ctx>(walk: &Walk<'_, 'ctx>, value_use: ValueUse<'ctx>) -> bool {
    others_are(value_use, |value| walk.is_known(value))
}

/// Whether the other operands are constants, the instruction's own result, or values for which `is` holds.
pub(super) fn others_are<'ctx>(value_use: ValueUse<'ctx>, is: impl Fn(BasicValueEnum<'ctx>) -> bool) -> bool {
    let ValueUse {
        instruction,
        operand: index,
    } = value_use;
    (0..operand_count(instruction))
        .filter(|&other| other != index)
        .all(|other| {
            is_constant_operand(instruction, other)
                || operand(instruction, other)
                    .is_some_and(|value| is(value) || Some(value) == result(instruction))
        })
}

/// How many operands an instruction has, the callee of a call aside.
fn operand_count(instruction: InstructionValue<'_>) -> u32 {
    // It is the last one.
    instruction.get_num_operands() - u32::from(called_function(instruction).is_some())
}

/// Whether the result is known where all operands are.
pub(super) fn is_computed(instruction: InstructionValue<'_>) -> bool {
    match instruction.get_opcode() {
        // A branch chooses.
        InstructionOpcode::Phi => instruction.get_num_operands() == 1,
        InstructionOpcode::Call => {
            called_function(instruction).is_some_and(|callee| Symbol::from(callee).is_intrinsic())
        }
        opcode => is_conversion(opcode) || is_computation(opcode),
    }
}

/// The result of a sum or a difference in which a value is used, and what is in it besides.
pub(super) fn sum_with(value_use: ValueUse<'_>) -> Option<(BasicValueEnum<'_>, BasicValueEnum<'_>)> {
    let ValueUse {
        instruction,
        operand: index,
    } = value_use;
    Some((result(instruction)?, operand(instruction, 1 - index.min(1))?))
}

/// Whether the sum goes back into the variable of a loop that it was made from.
fn is_step(value_use: ValueUse<'_>) -> bool {
    let Some((sum, other)) = sum_with(value_use) else {
        return false;
    };
    value_uses(sum).into_iter().any(|use_| {
        use_.instruction.get_opcode() == InstructionOpcode::Phi && result(use_.instruction) == Some(other)
    })
}

/// Comparisons with known values, of a variable that a loop changes by a known step, or of its next value. An
/// end that another argument says counts for that argument, not for the start: starts change more often.
fn stopping_comparisons<'ctx>(
    walk: &Walk<'_, 'ctx>,
    variable: InstructionValue<'ctx>,
) -> Vec<InstructionValue<'ctx>> {
    use InstructionOpcode as Opcode;
    let is_fixed = |value_use| others_are(value_use, |value| walk.is_number(value));
    let mut comparisons = Vec::new();
    let mut steps = Vec::new();
    let uses_of = |instruction| result(instruction).into_iter().flat_map(value_uses);
    for variable_use in uses_of(variable).filter(|&use_| is_fixed(use_)) {
        let user = variable_use.instruction;
        match user.get_opcode() {
            Opcode::ICmp => comparisons.push(user),
            Opcode::Add | Opcode::Sub if uses_of(user).any(|use_| use_.instruction == variable) => {
                steps.push(user);
            }
            _ => {}
        }
    }
    if steps.is_empty() {
        return Vec::new();
    }
    let of_next = steps
        .into_iter()
        .flat_map(uses_of)
        .filter(|&use_| use_.instruction.get_opcode() == Opcode::ICmp && is_fixed(use_));
    comparisons.extend(of_next.map(|use_| use_.instruction));
    comparisons
}

/// Whether a loop ends so far behind the number where it starts, whatever that is.
pub(super) fn ends_behind_start<'ctx>(walk: &Walk<'_, 'ctx>, comparison: InstructionValue<'ctx>) -> bool {
    let operands =
        || (0..comparison.get_num_operands()).filter_map(|index| stripped(operand(comparison, index)?));
    let variables = operands().flat_map(|value| {
        let of_sum = defined_by(value)
            .filter(|sum| sum.get_opcode() == InstructionOpcode::Add)
            .into_iter()
            .flat_map(|sum| (0..2).filter_map(move |index| operand(sum, index)));
        std::iter::once(value).chain(of_sum)
    });
    let phis = variables.filter_map(|value| PhiValue::try_from(defined_by(value)?).ok());
    let starts: Vec<_> = phis
        .flat_map(|phi| phi.get_incomings().map(|(value, _)| value).collect::<Vec<_>>())
        .filter(|&value| walk.is_number(value))
        .filter_map(stripped)
        .collect();
    operands().filter_map(defined_by).any(|end| {
        end.get_opcode() == InstructionOpcode::Add
            && (0..2).any(|index| {
                let is_start = operand(end, index)
                    .and_then(stripped)
                    .is_some_and(|value| starts.contains(&value));
                is_start && operand(end, 1 - index).is_some_and(|length| !walk.is_number(length))
            })
    })
}

/// Whether the comparison is of a variable of a loop that goes on by steps that the runtime gives: on GPUs,
/// teams and threads take turns with the iterations.
pub(super) fn advances_by_runtime<'ctx>(comparison: InstructionValue<'ctx>) -> bool {
    let given = |value: BasicValueEnum<'ctx>| {
        defined_by(value)
            .is_some_and(|instruction| loads_local(instruction) || called_function(instruction).is_some())
    };
    let variables = (0..comparison.get_num_operands())
        .filter_map(|index| without_conversions(operand(comparison, index)?))
        .filter_map(|instruction| PhiValue::try_from(instruction).ok());
    variables.into_iter().any(|variable| {
        let incoming: Vec<_> = variable.get_incomings().map(|(value, _)| value).collect();
        let by_step = |next: InstructionValue<'ctx>| {
            next.get_opcode() == InstructionOpcode::Add
                && (0..2).filter_map(|index| operand(next, index)).any(given)
        };
        incoming.iter().copied().all(given) || incoming.into_iter().filter_map(defined_by).any(by_step)
    })
}

/// Whether the instruction loads from a local variable: one that the runtime got the address of, or it would
/// be a value.
fn loads_local(instruction: InstructionValue<'_>) -> bool {
    instruction.get_opcode() == InstructionOpcode::Load
        && matches!(operand(instruction, 0), Some(BasicValueEnum::PointerValue(pointer))
            if underlying_objects(pointer) == [Object::Local])
}

/// The instruction that the value is computed by, behind conversions to other sizes.
fn without_conversions(value: BasicValueEnum<'_>) -> Option<InstructionValue<'_>> {
    defined_by(stripped(value)?)
}

/// The value behind conversions to other sizes.
fn stripped(mut value: BasicValueEnum<'_>) -> Option<BasicValueEnum<'_>> {
    use InstructionOpcode as Opcode;
    while let Some(instruction) = defined_by(value)
        && matches!(
            instruction.get_opcode(),
            Opcode::Trunc | Opcode::ZExt | Opcode::SExt
        )
    {
        value = operand(instruction, 0)?;
    }
    Some(value)
}

pub(super) fn defined_by(value: BasicValueEnum<'_>) -> Option<InstructionValue<'_>> {
    match value {
        BasicValueEnum::IntValue(value) => value.as_instruction(),
        BasicValueEnum::PointerValue(value) => value.as_instruction(),
        _ => None,
    }
}

fn is_conversion(opcode: InstructionOpcode) -> bool {
    use InstructionOpcode as Opcode;
    matches!(
        opcode,
        Opcode::Trunc
            | Opcode::ZExt
            | Opcode::SExt
            | Opcode::BitCast
            | Opcode::Freeze
            | Opcode::IntToPtr
            | Opcode::PtrToInt
    )
}

fn is_computation(opcode: InstructionOpcode) -> bool {
    use InstructionOpcode as Opcode;
    matches!(
        opcode,
        Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::UDiv
            | Opcode::SDiv
            | Opcode::URem
            | Opcode::SRem
            | Opcode::Shl
            | Opcode::LShr
            | Opcode::AShr
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::ICmp
            | Opcode::FCmp
            | Opcode::FAdd
            | Opcode::FSub
            | Opcode::FMul
            | Opcode::FDiv
            | Opcode::FRem
            | Opcode::FNeg
            | Opcode::FPExt
            | Opcode::FPTrunc
            | Opcode::FPToSI
            | Opcode::FPToUI
            | Opcode::SIToFP
            | Opcode::UIToFP
            | Opcode::Select
            // Vectors of one number.
            | Opcode::InsertElement
            | Opcode::ShuffleVector
            | Opcode::ExtractElement
    )
}

fn of_call<'ctx>(
    walk: &Walk<'_, 'ctx>,
    instruction: InstructionValue<'ctx>,
    others_known: bool,
) -> Effect<'ctx> {
    let Some(callee) = called_function(instruction).map(Symbol::from) else {
        return Effect::Nothing;
    };
    let name = callee.name();
    // On GPUs these functions set no `errno`: a loop in which nothing changes their operands calls them once.
    if is_math_function(&name) && others_known && walk.is_for_gpu() {
        return Effect::Number;
    }
    if is_math_function(&name) {
        return Effect::Use(ParameterUses::MATH_CALL);
    }
    if callee.is_intrinsic() && others_known {
        return Effect::Number;
    }
    Effect::Nothing
}

fn is_math_function(name: &str) -> bool {
    if let Some(intrinsic) = name.strip_prefix("llvm.") {
        let base = intrinsic.split('.').next().unwrap_or_default();
        return MATH_FUNCTIONS.contains(&base);
    }
    // NVIDIA's and AMD's libraries.
    let name = name
        .strip_prefix("__nv_")
        .or_else(|| name.strip_prefix("__ocml_"))
        .unwrap_or(name);
    let name = name.trim_end_matches("_f64").trim_end_matches("_f32");
    MATH_FUNCTIONS.iter().any(|function| {
        name.strip_prefix(function)
            .is_some_and(|suffix| matches!(suffix, "" | "f" | "l"))
    })
}
