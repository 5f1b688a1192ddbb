//! Conversions of floating-point numbers.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::float::{Float as _, flush, saturated};
use crate::integer::Integer;
use crate::lanes::{Operation, lanes};
use crate::nan;
use crate::opcode::{Opcode, Rounding};

/// The function of a conversion from a floating-point type.
pub(super) fn operation(opcode: &Opcode<'_>, result: &str, input: &str) -> Option<Operation> {
    match result {
        "f16" | "bf16" | "f32" | "f64" => to_float(opcode, result, input),
        "f16x2" if input == "f32" => to_pair::<Half>(opcode),
        "bf16x2" if input == "f32" => to_pair::<BFloat>(opcode),
        _ if opcode.to_integer => match input {
            "f16" => to_integer::<FromHalf>(opcode, result),
            "bf16" => to_integer::<FromBFloat>(opcode, result),
            "f32" if opcode.ftz => to_integer::<FromFlushed>(opcode, result),
            "f32" => to_integer::<FromSingle>(opcode, result),
            "f64" => to_integer::<FromDouble>(opcode, result),
            _ => None,
        },
        _ => None,
    }
}

/// A format to convert from. Every value of the formats here is a double-precision number.
trait Source: 'static {
    /// Bits of the format.
    const BITS: u32;
    fn get(lane: u64) -> f64;
}

struct FromHalf;
struct FromBFloat;
struct FromSingle;
struct FromFlushed;
struct FromDouble;

impl Source for FromHalf {
    const BITS: u32 = 16;
    fn get(lane: u64) -> f64 {
        widened(Half::from_bits((lane & 0xffff).into()))
    }
}
impl Source for FromBFloat {
    const BITS: u32 = 16;
    fn get(lane: u64) -> f64 {
        widened(BFloat::from_bits((lane & 0xffff).into()))
    }
}
impl Source for FromSingle {
    const BITS: u32 = 32;
    fn get(lane: u64) -> f64 {
        f32::get(lane).into()
    }
}
impl Source for FromFlushed {
    const BITS: u32 = 32;
    fn get(lane: u64) -> f64 {
        f32::get_flushed(lane).into()
    }
}
impl Source for FromDouble {
    const BITS: u32 = 64;
    fn get(lane: u64) -> f64 {
        f64::get(lane)
    }
}

fn widened<F: FloatConvert<Double>>(value: F) -> f64 {
    let mut inexact = false;
    let value: Double = value.convert(&mut inexact).value;
    f64::from_bits(value.to_bits() as u64)
}

fn to_integer<S: Source>(opcode: &Opcode<'_>, result: &str) -> Option<Operation> {
    Some(match result {
        "s8" => rounded::<S, i8>(opcode.rounding?),
        "u8" => rounded::<S, u8>(opcode.rounding?),
        "s16" => rounded::<S, i16>(opcode.rounding?),
        "u16" => rounded::<S, u16>(opcode.rounding?),
        "s32" => rounded::<S, i32>(opcode.rounding?),
        "u32" => rounded::<S, u32>(opcode.rounding?),
        "s64" => rounded::<S, i64>(opcode.rounding?),
        "u64" => rounded::<S, u64>(opcode.rounding?),
        _ => return None,
    })
}

fn rounded<S: Source, R: Integer>(rounding: Rounding) -> Operation {
    match rounding {
        Rounding::Nearest => lanes!(|a| integer::<S, R>(a, f64::round_ties_even)),
        Rounding::Zero => lanes!(|a| integer::<S, R>(a, f64::trunc)),
        Rounding::Down => lanes!(|a| integer::<S, R>(a, f64::floor)),
        Rounding::Up => lanes!(|a| integer::<S, R>(a, f64::ceil)),
    }
}

/// The nearest integer of the type; for a NaN zero, or, where one side has 64 bits, its highest bit.
fn integer<S: Source, R: Integer>(lane: u64, round: fn(f64) -> f64) -> u64 {
    let value = S::get(lane);
    let result = if value.is_nan() {
        if S::BITS == 64 || R::BITS == 64 {
            return 1 << (R::BITS - 1);
        }
        R::narrow(0)
    } else {
        // `as` saturates, and i128 is wider than any type here.
        R::saturated(round(value) as i128)
    };
    result.put()
}

/// Of two numbers, of which the first goes to the upper half.
fn to_pair<F: Float + 'static>(opcode: &Opcode<'_>) -> Option<Operation>
where
    Double: FloatConvert<F>,
{
    if opcode.rounding != Some(Rounding::Nearest) || opcode.to_integer || opcode.ftz || opcode.sat {
        return None;
    }
    Some(lanes!(|a, b| {
        let half = |lane| narrow_half::<FromSingle, F>(lane, Round::NearestTiesToEven);
        half(a) << 16 | half(b)
    }))
}

fn to_float(opcode: &Opcode<'_>, result: &str, input: &str) -> Option<Operation> {
    let same = result == input;
    match (result, input, opcode.rounding) {
        ("f32", "f32", rounding) if opcode.to_integer || rounding.is_none() => integral_single(opcode),
        ("f64", "f64", Some(rounding)) if opcode.to_integer && !opcode.ftz && !opcode.sat => {
            Some(integral_double(rounding))
        }
        _ if same || opcode.to_integer || opcode.sat => None,
        // With `.ftz` the number goes through an instruction that answers one NaN.
        ("f64", "f32", None) if opcode.ftz => Some(lanes!(|a| {
            let value = f32::get_flushed(a);
            quiet_double(f32::from_bits(nan::single(value) as u32))
        })),
        ("f64", "f32", None) => Some(lanes!(|a| quiet_double(f32::get(a)))),
        ("f32", "f16", None) => Some(lanes!(|a| nan::single(FromHalf::get(a) as f32))),
        ("f32", "bf16", None) => Some(lanes!(|a| nan::single(FromBFloat::get(a) as f32))),
        ("f64", "f16", None) => Some(lanes!(|a| quiet_double(FromHalf::get(a) as f32))),
        ("f64", "bf16", None) => Some(lanes!(|a| quiet_double(FromBFloat::get(a) as f32))),
        ("f32", "f64", Some(rounding)) => Some(narrowed_single(rounding, opcode.ftz)),
        ("f16", "f32", Some(rounding)) => Some(narrowed::<FromSingle, Half>(rounding)),
        ("f16", "f64", Some(rounding)) => Some(narrowed::<FromDouble, Half>(rounding)),
        ("bf16", "f32", Some(rounding)) => Some(narrowed::<FromSingle, BFloat>(rounding)),
        ("bf16", "f64", Some(rounding)) => Some(narrowed::<FromDouble, BFloat>(rounding)),
        _ => None,
    }
}

/// `cvt.rni.f32.f32` and such, `cvt.sat.f32.f32`, `cvt.f32.f32`.
fn integral_single(opcode: &Opcode<'_>) -> Option<Operation> {
    let round = if opcode.to_integer { opcode.rounding } else { None };
    Some(match (round, opcode.sat, opcode.ftz) {
        (None, true, false) => lanes!(|a| nan::single(saturated(f32::get(a)))),
        (None, true, true) => lanes!(|a| nan::single(saturated(f32::get_flushed(a)))),
        (None, false, false) => lanes!(|a| nan::single(f32::get(a))),
        (None, false, true) => lanes!(|a| nan::single(f32::get_flushed(a))),
        (Some(Rounding::Nearest), false, _) => lanes!(|a| nan::single(f32::get(a).round_ties_even())),
        (Some(Rounding::Zero), false, _) => lanes!(|a| nan::single(f32::get(a).trunc())),
        (Some(Rounding::Down), false, false) => lanes!(|a| nan::single(f32::get(a).floor())),
        (Some(Rounding::Up), false, false) => lanes!(|a| nan::single(f32::get(a).ceil())),
        // A small number must not become one where it counts as zero.
        (Some(Rounding::Down), false, true) => lanes!(|a| nan::single(f32::get_flushed(a).floor())),
        (Some(Rounding::Up), false, true) => lanes!(|a| nan::single(f32::get_flushed(a).ceil())),
        _ => return None,
    })
}

fn integral_double(rounding: Rounding) -> Operation {
    macro_rules! integral {
        ($round:ident) => {
            lanes!(|a| {
                let a = f64::get(a);
                a.$round().put([a])
            })
        };
    }
    match rounding {
        Rounding::Nearest => integral!(round_ties_even),
        Rounding::Zero => integral!(trunc),
        Rounding::Down => integral!(floor),
        Rounding::Up => integral!(ceil),
    }
}

/// A wider number. Unlike other instructions this one keeps the payload of a NaN, made quiet.
fn quiet_double(value: f32) -> u64 {
    if !value.is_nan() {
        return f64::from(value).to_bits();
    }
    let bits = u64::from(value.to_bits());
    (bits >> 31) << 63 | 0x7ff8_0000_0000_0000 | (bits & 0x007f_ffff) << 29
}

/// A double-precision number in single precision. The NaN is another one than other instructions answer.
fn narrowed_single(rounding: Rounding, ftz: bool) -> Operation {
    macro_rules! single {
        ($round:expr) => {
            if ftz {
                lanes!(|a| single_bits(flush(narrow_single(f64::get(a), $round))))
            } else {
                lanes!(|a| single_bits(narrow_single(f64::get(a), $round)))
            }
        };
    }
    match rounding {
        Rounding::Nearest => single!(Round::NearestTiesToEven),
        Rounding::Zero => single!(Round::TowardZero),
        Rounding::Down => single!(Round::TowardNegative),
        Rounding::Up => single!(Round::TowardPositive),
    }
}

fn single_bits(value: f32) -> u64 {
    if value.is_nan() {
        0x7fc0_0000
    } else {
        value.to_bits()
    }
    .into()
}

#[inline(always)]
fn narrow_single(value: f64, round: Round) -> f32 {
    if round == Round::NearestTiesToEven {
        return value as f32;
    }
    let mut inexact = false;
    let value: Single = Double::from_bits(value.to_bits().into())
        .convert_r(round, &mut inexact)
        .value;
    f32::from_bits(value.to_bits() as u32)
}

fn narrowed<S: Source, F: Float + 'static>(rounding: Rounding) -> Operation
where
    Double: FloatConvert<F>,
{
    match rounding {
        Rounding::Nearest => lanes!(|a| narrow_half::<S, F>(a, Round::NearestTiesToEven)),
        Rounding::Zero => lanes!(|a| narrow_half::<S, F>(a, Round::TowardZero)),
        Rounding::Down => lanes!(|a| narrow_half::<S, F>(a, Round::TowardNegative)),
        Rounding::Up => lanes!(|a| narrow_half::<S, F>(a, Round::TowardPositive)),
    }
}

fn narrow_half<S: Source, F: Float>(lane: u64, round: Round) -> u64
where
    Double: FloatConvert<F>,
{
    let value = S::get(lane);
    if value.is_nan() {
        // As with a double-precision number that becomes a single-precision one, the NaN is another.
        return if S::BITS == 64 { 0x7e00 } else { nan::HALF.into() };
    }
    let mut inexact = false;
    let value: F = Double::from_bits(value.to_bits().into())
        .convert_r(round, &mut inexact)
        .value;
    value.to_bits() as u64
}
