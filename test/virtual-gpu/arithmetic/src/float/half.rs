//! Half precision: `f16` and `bf16`, rounded to nearest, one number or two in a register.

use rustc_apfloat::ieee::{BFloat, Half};
use rustc_apfloat::{Float, Round};

use crate::lanes::{Operation, lanes};
use crate::nan;
use crate::opcode::{Opcode, Rounding};

const NEAREST: Round = Round::NearestTiesToEven;

/// Computes with two numbers of a format, in each half that counts.
macro_rules! binary {
    ($format:ident, $count:ident, |$a:ident, $b:ident| $body:expr) => {
        lanes!(|$a, $b| $count::of_each(|half| {
            let ($a, $b) = (get::<$format>($a, half), get::<$format>($b, half));
            put($body)
        }))
    };
}

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
        "f16" => of_format::<Half, One>(opcode),
        "bf16" => of_format::<BFloat, One>(opcode),
        "f16x2" => of_format::<Half, Two>(opcode),
        "bf16x2" => of_format::<BFloat, Two>(opcode),
        _ => None,
    }
}

/// How many numbers a register holds.
trait Count: 'static {
    /// What comes of each, by its place among the register's halves.
    fn of_each(result: impl Fn(u32) -> u64) -> u64;
}

struct One;
struct Two;

impl Count for One {
    fn of_each(result: impl Fn(u32) -> u64) -> u64 {
        result(0)
    }
}

impl Count for Two {
    fn of_each(result: impl Fn(u32) -> u64) -> u64 {
        result(1) << 16 | result(0)
    }
}

/// The number in a half of a register.
fn get<T: Float>(lane: u64, half: u32) -> T {
    T::from_bits((lane >> (16 * half) & 0xffff).into())
}

/// A result, NaNs made the one.
pub(crate) fn put<T: Float>(value: T) -> u64 {
    if value.is_nan() {
        nan::HALF.into()
    } else {
        value.to_bits() as u64
    }
}

fn of_format<T: Float + 'static, N: Count>(opcode: &Opcode<'_>) -> Option<Operation> {
    Some(match (opcode.name, opcode.nan) {
        ("add", false) => binary!(T, N, |a, b| a.add_r(b, NEAREST).value),
        ("sub", false) => binary!(T, N, |a, b| a.sub_r(b, NEAREST).value),
        ("mul", false) => binary!(T, N, |a, b| a.mul_r(b, NEAREST).value),
        ("fma", false) => {
            lanes!(|a, b, c| N::of_each(|half| {
                let (b, c) = (get(b, half), get(c, half));
                put(get::<T>(a, half).mul_add_r(b, c, NEAREST).value)
            }))
        }
        ("neg", false) => lanes!(|a| N::of_each(|half| put(-get::<T>(a, half)))),
        ("abs", false) => lanes!(|a| N::of_each(|half| put(get::<T>(a, half).abs()))),
        ("min", false) => binary!(T, N, |a, b| smaller(a, b)),
        ("max", false) => binary!(T, N, |a, b| -smaller(-a, -b)),
        ("min", true) => binary!(T, N, |a, b| smaller_or_nan(a, b)),
        ("max", true) => binary!(T, N, |a, b| -smaller_or_nan(-a, -b)),
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
