//! `cvt` (PTX ISA 9.7.9.21).

mod from_float;
mod from_integer;

use crate::lanes::Operation;
use crate::opcode::Opcode;

/// The function of `cvt`: `cvt.ROUNDING.RESULT.INPUT`.
pub(crate) fn operation(opcode: &Opcode<'_>) -> Option<Operation> {
    if !opcode.modifiers.is_empty() || opcode.nan || opcode.approx || opcode.full {
        return None;
    }
    let &[result, input] = opcode.types.as_slice() else {
        return None;
    };
    match input {
        "f16" | "bf16" | "f32" | "f64" => from_float::operation(opcode, result, input),
        _ => from_integer::operation(opcode, result, input),
    }
}
