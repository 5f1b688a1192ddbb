//! Comparisons and properties of values (`setp`, `testp`; PTX ISA 9.7.6 and 9.7.3).

use std::cmp::Ordering;

use rustc_apfloat::Float as _;
use rustc_apfloat::ieee::{BFloat, Half};

use crate::float::Float;
use crate::integer::Integer;
use crate::lanes::{Operation, answers};
use crate::opcode::Opcode;

/// The function of `setp`.
pub(crate) fn operation(opcode: &Opcode<'_>) -> Option<Operation> {
    let &[how] = opcode.modifiers.as_slice() else {
        return None;
    };
    if opcode.rounding.is_some() || opcode.sat || opcode.nan || opcode.approx || opcode.full {
        return None;
    }
    let kind = opcode.only_type()?;
    if opcode.ftz && kind != "f32" {
        return None;
    }
    match kind {
        "b16" | "u16" => unsigned::<u16>(how, kind),
        "b32" | "u32" => unsigned::<u32>(how, kind),
        "b64" | "u64" => unsigned::<u64>(how, kind),
        "s16" => integers::<i16>(how),
        "s32" => integers::<i32>(how),
        "s64" => integers::<i64>(how),
        "f16" => floats::<HalfValue>(how),
        "bf16" => floats::<BFloatValue>(how),
        "f32" if opcode.ftz => floats::<FlushedSingle>(how),
        "f32" => floats::<SingleValue>(how),
        "f64" => floats::<DoubleValue>(how),
        _ => None,
    }
}

/// The function of `testp`.
pub(crate) fn test(opcode: &Opcode<'_>) -> Option<Operation> {
    let &[what] = opcode.modifiers.as_slice() else {
        return None;
    };
    match opcode.only_type()? {
        "f32" => properties::<SingleValue>(what),
        "f64" => properties::<DoubleValue>(what),
        _ => None,
    }
}

fn unsigned<T: Integer>(how: &str, kind: &str) -> Option<Operation> {
    let untyped = kind.starts_with('b');
    match how {
        "eq" | "ne" => integers::<T>(how),
        _ if untyped => None,
        "lo" => integers::<T>("lt"),
        "ls" => integers::<T>("le"),
        "hi" => integers::<T>("gt"),
        "hs" => integers::<T>("ge"),
        _ => integers::<T>(how),
    }
}

fn integers<T: Integer>(how: &str) -> Option<Operation> {
    Some(match how {
        "eq" => answers!(|a, b| T::get(a) == T::get(b)),
        "ne" => answers!(|a, b| T::get(a) != T::get(b)),
        "lt" => answers!(|a, b| T::get(a) < T::get(b)),
        "le" => answers!(|a, b| T::get(a) <= T::get(b)),
        "gt" => answers!(|a, b| T::get(a) > T::get(b)),
        "ge" => answers!(|a, b| T::get(a) >= T::get(b)),
        _ => return None,
    })
}

/// A value of some floating-point format, for comparisons and `testp` alone.
trait Value {
    fn compare(a: u64, b: u64) -> Option<Ordering>;
    fn category(a: u64) -> std::num::FpCategory;
}

struct SingleValue;
struct FlushedSingle;
struct DoubleValue;
struct HalfValue;
struct BFloatValue;

impl Value for SingleValue {
    fn compare(a: u64, b: u64) -> Option<Ordering> {
        f32::get(a).partial_cmp(&f32::get(b))
    }
    fn category(a: u64) -> std::num::FpCategory {
        f32::get(a).classify()
    }
}

impl Value for FlushedSingle {
    fn compare(a: u64, b: u64) -> Option<Ordering> {
        f32::get_flushed(a).partial_cmp(&f32::get_flushed(b))
    }
    fn category(a: u64) -> std::num::FpCategory {
        f32::get_flushed(a).classify()
    }
}

impl Value for DoubleValue {
    fn compare(a: u64, b: u64) -> Option<Ordering> {
        f64::get(a).partial_cmp(&f64::get(b))
    }
    fn category(a: u64) -> std::num::FpCategory {
        f64::get(a).classify()
    }
}

macro_rules! half_values {
    ($($value:ident $format:ident),*) => {$(
        impl Value for $value {
            fn compare(a: u64, b: u64) -> Option<Ordering> {
                let of = |lane: u64| $format::from_bits((lane & 0xffff).into());
                of(a).partial_cmp(&of(b))
            }
            fn category(a: u64) -> std::num::FpCategory {
                match $format::from_bits((a & 0xffff).into()) {
                    value if value.is_nan() => std::num::FpCategory::Nan,
                    value if value.is_infinite() => std::num::FpCategory::Infinite,
                    value if value.is_zero() => std::num::FpCategory::Zero,
                    value if value.is_denormal() => std::num::FpCategory::Subnormal,
                    _ => std::num::FpCategory::Normal,
                }
            }
        }
    )*};
}

half_values!(HalfValue Half, BFloatValue BFloat);

fn floats<V: Value>(how: &str) -> Option<Operation> {
    Some(match how {
        "eq" => answers!(|a, b| V::compare(a, b) == Some(Ordering::Equal)),
        "ne" => answers!(|a, b| V::compare(a, b).is_some_and(Ordering::is_ne)),
        "lt" => answers!(|a, b| V::compare(a, b).is_some_and(Ordering::is_lt)),
        "le" => answers!(|a, b| V::compare(a, b).is_some_and(Ordering::is_le)),
        "gt" => answers!(|a, b| V::compare(a, b).is_some_and(Ordering::is_gt)),
        "ge" => answers!(|a, b| V::compare(a, b).is_some_and(Ordering::is_ge)),
        "equ" => answers!(|a, b| V::compare(a, b).is_none_or(Ordering::is_eq)),
        "neu" => answers!(|a, b| V::compare(a, b).is_none_or(Ordering::is_ne)),
        "ltu" => answers!(|a, b| V::compare(a, b).is_none_or(Ordering::is_lt)),
        "leu" => answers!(|a, b| V::compare(a, b).is_none_or(Ordering::is_le)),
        "gtu" => answers!(|a, b| V::compare(a, b).is_none_or(Ordering::is_gt)),
        "geu" => answers!(|a, b| V::compare(a, b).is_none_or(Ordering::is_ge)),
        "num" => answers!(|a, b| V::compare(a, b).is_some()),
        "nan" => answers!(|a, b| V::compare(a, b).is_none()),
        _ => return None,
    })
}

fn properties<V: Value>(what: &str) -> Option<Operation> {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    Some(match what {
        "finite" => answers!(|a| matches!(V::category(a), Normal | Subnormal | Zero)),
        "infinite" => answers!(|a| V::category(a) == Infinite),
        "number" => answers!(|a| V::category(a) != Nan),
        "notanumber" => answers!(|a| V::category(a) == Nan),
        // Zero counts as normal.
        "normal" => answers!(|a| matches!(V::category(a), Normal | Zero)),
        "subnormal" => answers!(|a| V::category(a) == Subnormal),
        _ => return None,
    })
}
