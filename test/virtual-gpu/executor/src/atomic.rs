//! What atomic operations make of the old value and their operands.

use crate::code::Change;

/// The change that `atom.OPERATION.TYPE` makes. Values are in the low bits.
///
/// In shared memory subnormal numbers count; in global memory `add.f32` takes and gives zeros for them.
pub(crate) fn change(operation: &str, kind: &str, is_shared: bool) -> Option<Change> {
    use Change::{One, Two};
    Some(match (operation, kind) {
        ("and", "b32" | "b64") => One(|old, a| old & a),
        ("or", "b32" | "b64") => One(|old, a| old | a),
        ("xor", "b32" | "b64") => One(|old, a| old ^ a),
        ("exch", "b32" | "b64") => One(|_, a| a),
        ("add", "u32" | "s32" | "u64" | "s64") => One(u64::wrapping_add),
        ("min", "u32" | "u64") => One(u64::min),
        ("max", "u32" | "u64") => One(u64::max),
        ("min", "s32") => One(|old, a| (old as i32).min(a as i32) as u32 as u64),
        ("max", "s32") => One(|old, a| (old as i32).max(a as i32) as u32 as u64),
        ("min", "s64") => One(|old, a| (old as i64).min(a as i64) as u64),
        ("max", "s64") => One(|old, a| (old as i64).max(a as i64) as u64),
        ("inc", "u32") => One(|old, a| if old as u32 >= a as u32 { 0 } else { old + 1 }),
        ("dec", "u32") => One(|old, a| {
            if old as u32 == 0 || old as u32 > a as u32 {
                a & 0xFFFF_FFFF
            } else {
                old - 1
            }
        }),
        ("cas", "b16" | "b32" | "b64") => Two(|old, a, b| if old == a { b } else { old }),
        ("add", "f32") if is_shared => One(add_single),
        ("add", "f32") => One(|old, a| flush(add_single(flush(old), flush(a)))),
        ("add", "f64") => One(|old, a| {
            let sum = f64::from_bits(old) + f64::from_bits(a);
            // One NaN for all, so that results do not depend on the host.
            if sum.is_nan() {
                0x7FF8_0000_0000_0000
            } else {
                sum.to_bits()
            }
        }),
        _ => return None,
    })
}

fn add_single(a: u64, b: u64) -> u64 {
    let sum = f32::from_bits(a as u32) + f32::from_bits(b as u32);
    let bits = if sum.is_nan() { 0x7FFF_FFFF } else { sum.to_bits() };
    bits.into()
}

fn flush(bits: u64) -> u64 {
    if f32::from_bits(bits as u32).is_subnormal() {
        bits & 0x8000_0000
    } else {
        bits
    }
}
