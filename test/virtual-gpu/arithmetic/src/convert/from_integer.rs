//! Conversions of integers.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, Round};

use crate::integer::Integer;
use crate::lanes::{Operation, lanes};
use crate::opcode::{Opcode, Rounding};

/// The function of a conversion from an integer type.
pub(super) fn operation(opcode: &Opcode<'_>, result: &str, input: &str) -> Option<Operation> {
    if opcode.to_integer || opcode.ftz {
        return None;
    }
    match input {
        "s8" => from::<i8>(opcode, result),
        "u8" => from::<u8>(opcode, result),
        "s16" => from::<i16>(opcode, result),
        "u16" => from::<u16>(opcode, result),
        "s32" => from::<i32>(opcode, result),
        "u32" => from::<u32>(opcode, result),
        "s64" => from::<i64>(opcode, result),
        "u64" => from::<u64>(opcode, result),
        _ => None,
    }
}

fn from<T: Integer>(opcode: &Opcode<'_>, result: &str) -> Option<Operation> {
    match (result, opcode.rounding, opcode.sat) {
        ("s8", None, sat) => Some(resized::<T, i8>(sat)),
        ("u8", None, sat) => Some(resized::<T, u8>(sat)),
        ("s16", None, sat) => Some(resized::<T, i16>(sat)),
        ("u16", None, sat) => Some(resized::<T, u16>(sat)),
        ("s32", None, sat) => Some(resized::<T, i32>(sat)),
        ("u32", None, sat) => Some(resized::<T, u32>(sat)),
        ("s64", None, sat) => Some(resized::<T, i64>(sat)),
        ("u64", None, sat) => Some(resized::<T, u64>(sat)),
        ("f32", Some(Rounding::Nearest), false) => {
            Some(lanes!(|a| u64::from((T::get(a).wide() as f32).to_bits())))
        }
        ("f64", Some(Rounding::Nearest), false) => Some(lanes!(|a| (T::get(a).wide() as f64).to_bits())),
        (_, Some(rounding), false) => to_float::<T>(result, rounding),
        _ => None,
    }
}

/// A value in another integer type. A register may be wider than the type: the sign fills 32 bits.
fn resized<T: Integer, R: Integer>(saturate: bool) -> Operation {
    if saturate {
        lanes!(|a| filled(R::saturated(T::get(a).wide())))
    } else {
        lanes!(|a| filled(R::narrow(T::get(a).wide())))
    }
}

fn filled<R: Integer>(value: R) -> u64 {
    if R::SIGNED && R::BITS < 32 {
        i32::narrow(value.wide()).put()
    } else {
        value.put()
    }
}

fn to_float<T: Integer>(result: &str, rounding: Rounding) -> Option<Operation> {
    macro_rules! rounded {
        ($format:ident) => {
            match rounding {
                Rounding::Nearest => lanes!(|a| soft::<T, $format>(a, Round::NearestTiesToEven)),
                Rounding::Zero => lanes!(|a| soft::<T, $format>(a, Round::TowardZero)),
                Rounding::Down => lanes!(|a| soft::<T, $format>(a, Round::TowardNegative)),
                Rounding::Up => lanes!(|a| soft::<T, $format>(a, Round::TowardPositive)),
            }
        };
    }
    Some(match result {
        "f16" => rounded!(Half),
        "bf16" => rounded!(BFloat),
        "f32" => rounded!(Single),
        "f64" => rounded!(Double),
        _ => return None,
    })
}

fn soft<T: Integer, F: Float>(lane: u64, round: Round) -> u64 {
    F::from_i128_r(T::get(lane).wide(), round).value.to_bits() as u64
}
