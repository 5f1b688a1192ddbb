//! One register of a warp, and functions on such registers.

/// Threads of a warp.
pub const LANES: usize = 32;

/// One register of all lanes. A value narrower than 64 bits lies in the low bits. Results have zeros above
/// their type's width; of inputs only the bits of the type are read.
pub type Lanes = [u64; LANES];

/// What an instruction computes, by its number of inputs.
#[derive(Debug, Clone, Copy)]
pub enum Operation {
    /// One input.
    Unary(fn(&Lanes) -> Lanes),
    /// Two inputs.
    Binary(fn(&Lanes, &Lanes) -> Lanes),
    /// Three inputs.
    Ternary(fn(&Lanes, &Lanes, &Lanes) -> Lanes),
    /// Four inputs (`bfi`, `lop3` with its table as the last input).
    Quaternary(fn(&Lanes, &Lanes, &Lanes, &Lanes) -> Lanes),
    /// A comparison: bit `n` of the result is lane `n`'s answer.
    Compare(fn(&Lanes, &Lanes) -> u32),
    /// A property of one value (`testp`): bit `n` of the result is lane `n`'s answer.
    Test(fn(&Lanes) -> u32),
}

/// An operation made of what one lane computes. The closure captures nothing, so that it becomes a plain
/// function.
macro_rules! lanes {
    (|$a:ident| $body:expr) => {
        $crate::lanes::Operation::Unary(|a| {
            std::array::from_fn(|lane| {
                let $a = a[lane];
                $body
            })
        })
    };
    (|$a:ident, $b:ident| $body:expr) => {
        $crate::lanes::Operation::Binary(|a, b| {
            std::array::from_fn(|lane| {
                let ($a, $b) = (a[lane], b[lane]);
                $body
            })
        })
    };
    (|$a:ident, $b:ident, $c:ident| $body:expr) => {
        $crate::lanes::Operation::Ternary(|a, b, c| {
            std::array::from_fn(|lane| {
                let ($a, $b, $c) = (a[lane], b[lane], c[lane]);
                $body
            })
        })
    };
    (|$a:ident, $b:ident, $c:ident, $d:ident| $body:expr) => {
        $crate::lanes::Operation::Quaternary(|a, b, c, d| {
            std::array::from_fn(|lane| {
                let ($a, $b, $c, $d) = (a[lane], b[lane], c[lane], d[lane]);
                $body
            })
        })
    };
}

/// A comparison made of what one lane answers.
macro_rules! answers {
    (|$a:ident| $body:expr) => {
        $crate::lanes::Operation::Test(|a| {
            let mut mask = 0;
            for (lane, &$a) in a.iter().enumerate() {
                mask |= u32::from($body) << lane;
            }
            mask
        })
    };
    (|$a:ident, $b:ident| $body:expr) => {
        $crate::lanes::Operation::Compare(|a, b| {
            let mut mask = 0;
            for (lane, (&$a, &$b)) in a.iter().zip(b).enumerate() {
                mask |= u32::from($body) << lane;
            }
            mask
        })
    };
}

pub(crate) use {answers, lanes};
