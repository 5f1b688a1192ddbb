//! Floating-point instructions with IEEE results (PTX ISA 9.7.3, 9.7.4).
//!
//! Where results are rounded to nearest, the host's own arithmetic computes them; the other directions and
//! the half-precision formats are LLVM's software floating point (`rustc_apfloat`).

mod directed;
mod half;

use crate::lanes::{Operation, lanes};
use crate::nan;
use crate::opcode::{Opcode, Rounding};

/// A format that the host computes with.
pub(crate) trait Float: Copy + PartialOrd + 'static {
    /// The value in the low bits of a lane.
    fn get(lane: u64) -> Self;
    /// The value, subnormal numbers made zeros of their sign.
    fn get_flushed(lane: u64) -> Self;
    /// A result of an instruction with these inputs.
    fn put<const N: usize>(self, inputs: [Self; N]) -> u64;
    /// The same, subnormal numbers made zeros of their sign.
    fn put_flushed<const N: usize>(self, inputs: [Self; N]) -> u64;
    /// Whether the value is a NaN.
    fn is_nan(self) -> bool;
    /// Whether the sign bit is set.
    fn is_negative(self) -> bool;
}

/// Single precision.
impl Float for f32 {
    #[inline(always)]
    fn get(lane: u64) -> Self {
        Self::from_bits(lane as u32)
    }
    #[inline(always)]
    fn get_flushed(lane: u64) -> Self {
        flush(Self::get(lane))
    }
    #[inline(always)]
    fn put<const N: usize>(self, _: [Self; N]) -> u64 {
        nan::single(self)
    }
    #[inline(always)]
    fn put_flushed<const N: usize>(self, _: [Self; N]) -> u64 {
        nan::single(flush(self))
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        Self::is_nan(self)
    }
    #[inline(always)]
    fn is_negative(self) -> bool {
        self.is_sign_negative()
    }
}

/// Double precision. It has no flushing: `.ftz` is for single precision and for approximations.
impl Float for f64 {
    #[inline(always)]
    fn get(lane: u64) -> Self {
        Self::from_bits(lane)
    }
    #[inline(always)]
    fn get_flushed(lane: u64) -> Self {
        Self::get(lane)
    }
    #[inline(always)]
    fn put<const N: usize>(self, inputs: [Self; N]) -> u64 {
        nan::double(self, inputs)
    }
    #[inline(always)]
    fn put_flushed<const N: usize>(self, inputs: [Self; N]) -> u64 {
        self.put(inputs)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        Self::is_nan(self)
    }
    #[inline(always)]
    fn is_negative(self) -> bool {
        self.is_sign_negative()
    }
}

/// Clamped to [0, 1]; NaNs and -0 become +0.
pub(crate) fn saturated(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// A subnormal number becomes a zero of the same sign.
#[inline(always)]
pub(crate) fn flush(value: f32) -> f32 {
    if value.is_subnormal() {
        0.0f32.copysign(value)
    } else {
        value
    }
}

/// Computes with inputs of a type, without or with flushing.
macro_rules! float_lanes {
    ($type:ident, $opcode:ident, |$($input:ident),+| $body:expr) => {
        if $opcode.ftz {
            lanes!(|$($input),+| {
                $(let $input = $type::get_flushed($input);)+
                let value: $type = $body;
                value.put_flushed([$($input),+])
            })
        } else {
            lanes!(|$($input),+| {
                $(let $input = $type::get($input);)+
                let value: $type = $body;
                value.put([$($input),+])
            })
        }
    };
}

/// The function of a floating-point instruction with an IEEE result.
pub(crate) fn operation(opcode: &Opcode<'_>) -> Option<Operation> {
    if opcode.to_integer || !opcode.modifiers.is_empty() {
        return None;
    }
    match opcode.only_type()? {
        "f32" => single(opcode),
        "f64" if !opcode.ftz && !opcode.sat => double(opcode),
        "f16" | "bf16" | "f16x2" | "bf16x2" => half::operation(opcode),
        _ => None,
    }
}

macro_rules! common {
    ($type:ident, $opcode:ident) => {
        match $opcode.name {
            "copysign" => Some(lanes!(|a, b| {
                let (sign, value) = ($type::from_bits(a as _), $type::from_bits(b as _));
                u64::from(value.copysign(sign).to_bits())
            })),
            "neg" => Some(float_lanes!($type, $opcode, |a| -a)),
            "abs" => Some(float_lanes!($type, $opcode, |a| a.abs())),
            "min" if $opcode.nan => Some(float_lanes!($type, $opcode, |a, b| if a.is_nan() || b.is_nan() {
                $type::NAN
            } else {
                smaller(a, b)
            })),
            "max" if $opcode.nan => Some(float_lanes!($type, $opcode, |a, b| if a.is_nan() || b.is_nan() {
                $type::NAN
            } else {
                larger(a, b)
            })),
            "min" => Some(float_lanes!($type, $opcode, |a, b| smaller(a, b))),
            "max" => Some(float_lanes!($type, $opcode, |a, b| larger(a, b))),
            _ => None,
        }
    };
}

/// The smaller number, the other input where one is a NaN; -0 is smaller than +0.
#[inline(always)]
fn smaller<T: Float>(a: T, b: T) -> T {
    if a.is_nan() || b < a || (a == b && b.is_negative()) {
        b
    } else {
        a
    }
}

/// The larger number, the other input where one is a NaN; +0 is larger than -0.
#[inline(always)]
fn larger<T: Float>(a: T, b: T) -> T {
    if a.is_nan() || b > a || (a == b && a.is_negative()) {
        b
    } else {
        a
    }
}

fn single(opcode: &Opcode<'_>) -> Option<Operation> {
    if opcode.sat {
        if opcode
            .rounding
            .is_some_and(|rounding| rounding != Rounding::Nearest)
        {
            return None;
        }
        return Some(match opcode.name {
            "add" => float_lanes!(f32, opcode, |a, b| saturated(a + b)),
            "sub" => float_lanes!(f32, opcode, |a, b| saturated(a - b)),
            "mul" => float_lanes!(f32, opcode, |a, b| saturated(a * b)),
            "fma" | "mad" => float_lanes!(f32, opcode, |a, b, c| saturated(a.mul_add(b, c))),
            _ => return None,
        });
    }
    if opcode.rounding.is_none()
        && let Some(operation) = common!(f32, opcode)
    {
        return Some(operation);
    }
    if !is_rounded(opcode) {
        return None;
    }
    match opcode.rounding.unwrap_or(Rounding::Nearest) {
        Rounding::Nearest => Some(match opcode.name {
            "add" => float_lanes!(f32, opcode, |a, b| a + b),
            "sub" => float_lanes!(f32, opcode, |a, b| a - b),
            "mul" => float_lanes!(f32, opcode, |a, b| a * b),
            "div" => float_lanes!(f32, opcode, |a, b| a / b),
            "fma" | "mad" => float_lanes!(f32, opcode, |a, b, c| a.mul_add(b, c)),
            "rcp" => float_lanes!(f32, opcode, |a| 1.0 / a),
            "sqrt" => float_lanes!(f32, opcode, |a| a.sqrt()),
            _ => return None,
        }),
        direction => directed::single(opcode.name, direction, opcode.ftz),
    }
}

fn double(opcode: &Opcode<'_>) -> Option<Operation> {
    if opcode.rounding.is_none()
        && let Some(operation) = common!(f64, opcode)
    {
        return Some(operation);
    }
    if !is_rounded(opcode) {
        return None;
    }
    match opcode.rounding.unwrap_or(Rounding::Nearest) {
        Rounding::Nearest => Some(match opcode.name {
            "add" => float_lanes!(f64, opcode, |a, b| a + b),
            "sub" => float_lanes!(f64, opcode, |a, b| a - b),
            "mul" => float_lanes!(f64, opcode, |a, b| a * b),
            // A division is a routine of many instructions, which answers the first NaN.
            "div" => lanes!(|a, b| {
                let (a, b) = (f64::get(a), f64::get(b));
                (a / b).put([b, a])
            }),
            "fma" | "mad" => float_lanes!(f64, opcode, |a, b, c| a.mul_add(b, c)),
            "rcp" => float_lanes!(f64, opcode, |a| 1.0 / a),
            "sqrt" => float_lanes!(f64, opcode, |a| a.sqrt()),
            _ => return None,
        }),
        direction => directed::double(opcode.name, direction),
    }
}

/// Whether the instruction has its rounding as PTX demands: `add`, `sub` and `mul` may leave it out.
fn is_rounded(opcode: &Opcode<'_>) -> bool {
    !opcode.nan && (opcode.rounding.is_some() || matches!(opcode.name, "add" | "sub" | "mul"))
}
