//! Half precision: `f16` and `bf16`, rounded to nearest.

use rustc_apfloat::ieee::{BFloat, Half};
use rustc_apfloat::{Float, Round};

use crate::lanes::{Operation, lanes};
use crate::nan;
use crate::opcode::{Opcode, Rounding};

/// The function of a half-precision instruction.
pub(super) fn operation(opcode: &Opcode<'_>) -> Option<Operation> {
    if opcode.ftz
        || opcode.sat
        || opcode
            .rounding
            .is_some_and(|rounding| rounding != Rounding::Nearest)
    {
        return None;
    }
    match opcode.only_type()? {
        "f16" => of_format::<Half>(opcode),
        "bf16" => of_format::<BFloat>(opcode),
        _ => None,
    }
}

fn get<T: Float>(lane: u64) -> T {
    T::from_bits((lane & 0xffff).into())
}

/// A result, NaNs made the one.
pub(crate) fn put<T: Float>(value: T) -> u64 {
    if value.is_nan() {
        nan::HALF.into()
    } else {
        value.to_bits() as u64
    }
}

fn of_format<T: Float + 'static>(opcode: &Opcode<'_>) -> Option<Operation> {
    const NEAREST: Round = Round::NearestTiesToEven;
    Some(match (opcode.name, opcode.nan) {
        ("add", false) => lanes!(|a, b| put(get::<T>(a).add_r(get(b), NEAREST).value)),
        ("sub", false) => lanes!(|a, b| put(get::<T>(a).sub_r(get(b), NEAREST).value)),
        ("mul", false) => lanes!(|a, b| put(get::<T>(a).mul_r(get(b), NEAREST).value)),
        ("fma", false) => lanes!(|a, b, c| put(get::<T>(a).mul_add_r(get(b), get(c), NEAREST).value)),
        ("neg", false) => lanes!(|a| put(-get::<T>(a))),
        ("abs", false) => lanes!(|a| put(get::<T>(a).abs())),
        ("min", false) => lanes!(|a, b| put(smaller::<T>(get(a), get(b)))),
        ("max", false) => lanes!(|a, b| put(-smaller::<T>(-get::<T>(a), -get::<T>(b)))),
        ("min", true) => lanes!(|a, b| put(smaller_or_nan::<T>(get(a), get(b)))),
        ("max", true) => lanes!(|a, b| put(-smaller_or_nan::<T>(-get::<T>(a), -get::<T>(b)))),
        _ => return None,
    })
}

/// The smaller number, the other input where one is a NaN; -0 is smaller than +0.
fn smaller<T: Float>(a: T, b: T) -> T {
    if a.is_nan() || b < a || (a == b && b.is_negative()) {
        b
    } else {
        a
    }
}

fn smaller_or_nan<T: Float>(a: T, b: T) -> T {
    if b.is_nan() {
        b
    } else if a.is_nan() {
        a
    } else {
        smaller(a, b)
    }
}
