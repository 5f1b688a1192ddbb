//! What the arithmetic instructions of PTX compute, on the 32 lanes of a warp.
//!
//! [`operation`] finds the function of an opcode once, when a kernel is decoded. The function computes all
//! lanes; the caller keeps those whose threads execute. Every function is total: no input panics, and what
//! PTX leaves undefined (a division by zero) gives what an H100 gave.
//!
//! * Integers, comparisons, conversions and the IEEE operations give the device's bits. `tests/golden.rs`
//!   compares them with what an H100 answered.
//! * Approximations (`ex2.approx`, `rcp.approx`, ...) follow one rule instead: the correctly rounded result
//!   of the function, without the low half where the device computes only the high half (`.ftz.f64`). They
//!   are deterministic on every host, and prove nothing about the bits of a device. See
//!   [`approximate`](mod@approximate).
//!
//! Names and rules are those of NVIDIA's *PTX ISA*, chapter 9.7.

mod approximate;
mod compare;
mod convert;
mod float;
mod integer;
mod lanes;
mod nan;
mod opcode;

pub use lanes::{LANES, Lanes, Operation};
use opcode::Opcode;

/// The function of an opcode with all its modifiers as PTX writes them: `fma.rn.f64`, `cvt.rzi.s32.f64`,
/// `setp.lt.s32`.
///
/// Moves, selections, predicates, carries, memory, control flow and communication between lanes are not
/// arithmetic in this sense. `setp` with a Boolean operator (`setp.lt.and.s32`) is to be asked for without
/// it.
///
/// `None` where there is no such instruction, or it is not of this package.
#[must_use]
pub fn operation(opcode: &str) -> Option<Operation> {
    let opcode = Opcode::parse(opcode)?;
    match opcode.name {
        "cvt" => convert::operation(&opcode),
        "setp" => compare::operation(&opcode),
        "testp" => compare::test(&opcode),
        _ if opcode.approx || opcode.full => approximate::operation(&opcode),
        _ if opcode.is_float() => float::operation(&opcode),
        _ => integer::operation(&opcode),
    }
}
