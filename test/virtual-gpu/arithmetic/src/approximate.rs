//! Approximations (PTX ISA 9.7.3): one deterministic rule in the place of a device's tables.
//!
//! The result is the function's value, computed in double precision by `libm` (not the host's library, so
//! that all hosts agree) and rounded to nearest. Where the device computes only the high half of a
//! double-precision result (`rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`), the low half is zero here too.
//! What PTX says of special values holds: subnormal inputs with `.ftz`, signs of zeros, infinities, NaNs.
//! `ex2`, `lg2`, `sin` and `cos` flush subnormal inputs where a device does so for both forms.

use crate::float::{Float as _, flush};
use crate::lanes::{Operation, lanes};
use crate::opcode::Opcode;

/// The NaN that the double-precision approximations answer.
const DOUBLE_NAN: u64 = 0x7fff_ffff_0000_0000;

/// The function of an approximation.
pub(crate) fn operation(opcode: &Opcode<'_>) -> Option<Operation> {
    if opcode.rounding.is_some() || opcode.sat || opcode.nan || !opcode.modifiers.is_empty() {
        return None;
    }
    match opcode.only_type()? {
        "f32" => single(opcode),
        "f64" => double(opcode),
        _ => None,
    }
}

/// One single-precision input; the body computes in double precision.
macro_rules! approximation {
    ($opcode:ident, |$a:ident| $body:expr) => {
        if $opcode.ftz {
            lanes!(|a| {
                let a = f32::get_flushed(a);
                let $a = f64::from(a);
                let value: f64 = $body;
                (value as f32).put_flushed([a])
            })
        } else {
            lanes!(|a| {
                let a = f32::get(a);
                let $a = f64::from(a);
                let value: f64 = $body;
                (value as f32).put([a])
            })
        }
    };
}

fn single(opcode: &Opcode<'_>) -> Option<Operation> {
    Some(match (opcode.name, opcode.full) {
        ("ex2", false) => approximation!(opcode, |a| libm::exp2(a)),
        ("lg2", false) => approximation!(opcode, |a| libm::log2(a)),
        ("sin", false) => approximation!(opcode, |a| libm::sin(a)),
        ("cos", false) => approximation!(opcode, |a| libm::cos(a)),
        ("tanh", false) => approximation!(opcode, |a| libm::tanh(a)),
        ("rcp", false) => approximation!(opcode, |a| 1.0 / a),
        ("sqrt", false) => approximation!(opcode, |a| a.sqrt()),
        ("rsqrt", false) => approximation!(opcode, |a| 1.0 / a.sqrt()),
        ("div", _) if opcode.ftz => lanes!(|a, b| {
            let (a, b) = (f32::get_flushed(a), f32::get_flushed(b));
            flush(a / b).put([a, b])
        }),
        ("div", _) => lanes!(|a, b| {
            let (a, b) = (f32::get(a), f32::get(b));
            (a / b).put([a, b])
        }),
        _ => return None,
    })
}

fn double(opcode: &Opcode<'_>) -> Option<Operation> {
    Some(match (opcode.name, opcode.ftz) {
        ("rcp", true) => lanes!(|a| high_half(1.0 / flushed_high_half(a))),
        ("rsqrt", true) => lanes!(|a| high_half(1.0 / flushed_high_half(a).sqrt())),
        ("rsqrt", false) => lanes!(|a| {
            let a = f64::get(a);
            (1.0 / a.sqrt()).put([a])
        }),
        _ => return None,
    })
}

/// What the device reads of the input: the high half, which makes a NaN with a small payload an infinity; a
/// subnormal number is a zero.
fn flushed_high_half(lane: u64) -> f64 {
    let value = f64::from_bits(lane & !0xffff_ffff);
    if value.is_subnormal() {
        0.0f64.copysign(value)
    } else {
        value
    }
}

fn high_half(value: f64) -> u64 {
    if value.is_nan() {
        return DOUBLE_NAN;
    }
    let value = if value.is_subnormal() {
        0.0f64.copysign(value)
    } else {
        value
    };
    value.to_bits() & !0xffff_ffff
}
