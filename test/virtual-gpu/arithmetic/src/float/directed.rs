//! Results that are rounded towards zero, down or up.

use rustc_apfloat::ieee::{Double, DoubleS, IeeeFloat, Quad, Single, SingleS};
use rustc_apfloat::{Float as _, FloatConvert, Round};

use super::{Float, flush};
use crate::lanes::{Operation, lanes};
use crate::opcode::Rounding;

/// A direction as a type, so that a function of it captures nothing.
pub(super) trait Direction: 'static {
    const ROUND: Round;
}

pub(super) struct Zero;
pub(super) struct Down;
pub(super) struct Up;

impl Direction for Zero {
    const ROUND: Round = Round::TowardZero;
}
impl Direction for Down {
    const ROUND: Round = Round::TowardNegative;
}
impl Direction for Up {
    const ROUND: Round = Round::TowardPositive;
}

/// The function of a single-precision instruction.
pub(super) fn single(name: &str, direction: Rounding, ftz: bool) -> Option<Operation> {
    match direction {
        Rounding::Nearest => None,
        Rounding::Zero => single_towards::<Zero>(name, ftz),
        Rounding::Down => single_towards::<Down>(name, ftz),
        Rounding::Up => single_towards::<Up>(name, ftz),
    }
}

/// The function of a double-precision instruction.
pub(super) fn double(name: &str, direction: Rounding) -> Option<Operation> {
    match direction {
        Rounding::Nearest => None,
        Rounding::Zero => double_towards::<Zero>(name),
        Rounding::Down => double_towards::<Down>(name),
        Rounding::Up => double_towards::<Up>(name),
    }
}

fn soft_single(value: f32) -> Single {
    Single::from_bits(value.to_bits().into())
}

fn soft_double(value: f64) -> Double {
    Double::from_bits(value.to_bits().into())
}

fn hard_single(value: IeeeFloat<SingleS>) -> f32 {
    f32::from_bits(value.to_bits() as u32)
}

fn hard_double(value: IeeeFloat<DoubleS>) -> f64 {
    f64::from_bits(value.to_bits() as u64)
}

macro_rules! directed_lanes {
    ($type:ident, $soft:ident, $hard:ident, $ftz:expr, |$($input:ident),+| $body:expr) => {
        if $ftz {
            lanes!(|$($input),+| {
                $(let $input = $type::get_flushed($input);)+
                let value = {
                    $(let $input = $soft($input);)+
                    $hard($body)
                };
                value.put_flushed([$($input),+])
            })
        } else {
            lanes!(|$($input),+| {
                $(let $input = $type::get($input);)+
                let value = {
                    $(let $input = $soft($input);)+
                    $hard($body)
                };
                value.put([$($input),+])
            })
        }
    };
}

fn single_towards<D: Direction>(name: &str, ftz: bool) -> Option<Operation> {
    Some(match name {
        "add" => directed_lanes!(f32, soft_single, hard_single, ftz, |a, b| a
            .add_r(b, D::ROUND)
            .value),
        "sub" => directed_lanes!(f32, soft_single, hard_single, ftz, |a, b| a
            .sub_r(b, D::ROUND)
            .value),
        "mul" => directed_lanes!(f32, soft_single, hard_single, ftz, |a, b| a
            .mul_r(b, D::ROUND)
            .value),
        "div" => directed_lanes!(f32, soft_single, hard_single, ftz, |a, b| a
            .div_r(b, D::ROUND)
            .value),
        "fma" | "mad" => directed_lanes!(f32, soft_single, hard_single, ftz, |a, b, c| {
            a.mul_add_r(b, c, D::ROUND).value
        }),
        "rcp" => directed_lanes!(f32, soft_single, hard_single, ftz, |a| {
            soft_single(1.0).div_r(a, D::ROUND).value
        }),
        "sqrt" if ftz => lanes!(|a| {
            let a = f32::get_flushed(a);
            flush(hard_single(round_double::<D>(f64::from(a)))).put([a])
        }),
        "sqrt" => lanes!(|a| {
            let a = f32::get(a);
            hard_single(round_double::<D>(f64::from(a))).put([a])
        }),
        _ => return None,
    })
}

fn double_towards<D: Direction>(name: &str) -> Option<Operation> {
    Some(match name {
        "add" => directed_lanes!(f64, soft_double, hard_double, false, |a, b| a
            .add_r(b, D::ROUND)
            .value),
        "sub" => directed_lanes!(f64, soft_double, hard_double, false, |a, b| a
            .sub_r(b, D::ROUND)
            .value),
        "mul" => directed_lanes!(f64, soft_double, hard_double, false, |a, b| a
            .mul_r(b, D::ROUND)
            .value),
        // A division is a routine of many instructions, which answers the first NaN.
        "div" => lanes!(|a, b| {
            let (a, b) = (f64::get(a), f64::get(b));
            hard_double(soft_double(a).div_r(soft_double(b), D::ROUND).value).put([b, a])
        }),
        "fma" | "mad" => directed_lanes!(f64, soft_double, hard_double, false, |a, b, c| {
            a.mul_add_r(b, c, D::ROUND).value
        }),
        "rcp" => directed_lanes!(f64, soft_double, hard_double, false, |a| {
            soft_double(1.0).div_r(a, D::ROUND).value
        }),
        "sqrt" => lanes!(|a| {
            let a = f64::get(a);
            square_root::<D>(a).put([a])
        }),
        _ => return None,
    })
}

/// The square root of a single-precision number, rounded once: in double precision it never lies so near to a
/// single-precision number that rounding it first would hide on which side it is, unless it is that number.
fn round_double<D: Direction>(value: f64) -> Single {
    let mut inexact = false;
    soft_double(square_root::<D>(value))
        .convert_r(D::ROUND, &mut inexact)
        .value
}

/// The square root, rounded in one direction. The host's is the nearest number; its square, which quadruple
/// precision holds exactly, says on which side the root is.
fn square_root<D: Direction>(value: f64) -> f64 {
    let root = value.sqrt();
    if !root.is_finite() || root == 0.0 {
        return root;
    }
    let mut inexact = false;
    let quad: Quad = soft_double(root).convert(&mut inexact).value;
    let exact: Quad = soft_double(value).convert(&mut inexact).value;
    let square = (quad * quad).value;
    if square > exact && D::ROUND != Round::TowardPositive {
        root.next_down()
    } else if square < exact && D::ROUND == Round::TowardPositive {
        root.next_up()
    } else {
        root
    }
}
