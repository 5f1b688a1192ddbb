//! Integer and bit instructions (PTX ISA 9.7.1, 9.7.2, 9.7.8).

use crate::lanes::{Operation, lanes};
use crate::opcode::Opcode;

/// An integer type of PTX, read from and written to the low bits of a lane.
pub(crate) trait Integer: Copy + Ord + 'static {
    /// Bits of the type.
    const BITS: u32;
    /// Whether the type has a sign.
    const SIGNED: bool;
    /// The value in the low bits of a lane.
    fn get(lane: u64) -> Self;
    /// The value in a lane, with zeros above.
    fn put(self) -> u64;
    /// The value, which every type fits.
    fn wide(self) -> i128;
    /// The low bits of a value.
    fn narrow(value: i128) -> Self;
    /// The nearest value of the type.
    fn saturated(value: i128) -> Self;
    /// The quotient; all ones where the divisor is zero; wraps.
    fn divide(self, divisor: Self) -> Self;
    /// The remainder; all ones where the divisor is zero.
    fn remainder(self, divisor: Self) -> Self;
    /// The sum; wraps.
    fn sum(self, other: Self) -> Self;
    /// The difference; wraps.
    fn difference(self, other: Self) -> Self;
    /// The low half of the product.
    fn product(self, other: Self) -> Self;
    /// Shifted left; amounts beyond the width count as the width.
    fn left(self, amount: u32) -> Self;
    /// Shifted right, with the sign where there is one; amounts beyond the width count as the width.
    fn right(self, amount: u32) -> Self;
}

macro_rules! integers {
    ($($type:ident $unsigned:ident $signed:literal),*) => {$(
        impl Integer for $type {
            const BITS: u32 = $type::BITS;
            const SIGNED: bool = $signed;
            fn get(lane: u64) -> Self {
                lane as Self
            }
            fn put(self) -> u64 {
                u64::from(self as $unsigned)
            }
            fn wide(self) -> i128 {
                i128::from(self)
            }
            fn narrow(value: i128) -> Self {
                value as Self
            }
            fn saturated(value: i128) -> Self {
                value.clamp(Self::MIN.into(), Self::MAX.into()) as Self
            }
            fn divide(self, divisor: Self) -> Self {
                if divisor == 0 { !0 } else { self.wrapping_div(divisor) }
            }
            fn remainder(self, divisor: Self) -> Self {
                if divisor == 0 { !0 } else { self.wrapping_rem(divisor) }
            }
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn difference(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn product(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn left(self, amount: u32) -> Self {
                self.checked_shl(amount).unwrap_or(0)
            }
            fn right(self, amount: u32) -> Self {
                if $signed {
                    self >> amount.min(Self::BITS - 1)
                } else {
                    self.checked_shr(amount).unwrap_or(0)
                }
            }
        }
    )*};
}

integers!(i8 u8 true, u8 u8 false, i16 u16 true, u16 u16 false, i32 u32 true, u32 u32 false, i64 u64 true, u64 u64 false);

/// The function of an integer instruction.
pub(crate) fn operation(opcode: &Opcode<'_>) -> Option<Operation> {
    if !opcode.is_plain_integer() {
        return None;
    }
    if let Some(operation) = words(opcode) {
        return Some(operation);
    }
    match opcode.only_type()? {
        "s16" => of_type::<i16>(opcode),
        "u16" => of_type::<u16>(opcode),
        "s32" => of_type::<i32>(opcode),
        "u32" => of_type::<u32>(opcode),
        "s64" => of_type::<i64>(opcode),
        "u64" => of_type::<u64>(opcode),
        "b16" => of_bits::<u16>(opcode),
        "b32" => of_bits::<u32>(opcode),
        "b64" => of_bits::<u64>(opcode),
        "u16x2" => of_pair::<u16>(opcode),
        "s16x2" => of_pair::<i16>(opcode),
        _ => None,
    }
}

/// Instructions on two numbers of 16 bits in one register.
fn of_pair<T: Integer>(opcode: &Opcode<'_>) -> Option<Operation> {
    if opcode.sat || !opcode.modifiers.is_empty() {
        return None;
    }
    Some(match opcode.name {
        "add" => lanes!(|a, b| pair::<T>(a, b, T::sum)),
        "min" => lanes!(|a, b| pair::<T>(a, b, T::min)),
        "max" => lanes!(|a, b| pair::<T>(a, b, T::max)),
        _ => return None,
    })
}

fn pair<T: Integer>(a: u64, b: u64, of_both: fn(T, T) -> T) -> u64 {
    let half = |shift: u32| of_both(T::get(a >> shift), T::get(b >> shift)).put() << shift;
    half(16) | half(0)
}

/// Instructions on numbers.
fn of_type<T: Integer>(opcode: &Opcode<'_>) -> Option<Operation> {
    let saturates = opcode.sat && T::SIGNED && T::BITS == 32;
    if opcode.sat && !(saturates && matches!(opcode.name, "add" | "sub" | "mad")) {
        return None;
    }
    Some(match (opcode.name, opcode.modifiers.as_slice()) {
        ("add", []) if saturates => lanes!(|a, b| T::saturated(T::get(a).wide() + T::get(b).wide()).put()),
        ("sub", []) if saturates => lanes!(|a, b| T::saturated(T::get(a).wide() - T::get(b).wide()).put()),
        ("mad", ["hi"]) if saturates => {
            lanes!(|a, b, c| T::saturated((high(T::get(a), T::get(b))).wide() + T::get(c).wide()).put())
        }
        _ if opcode.sat => return None,
        ("add", []) => lanes!(|a, b| T::get(a).sum(T::get(b)).put()),
        ("sub", []) => lanes!(|a, b| T::get(a).difference(T::get(b)).put()),
        ("mul", ["lo"]) => lanes!(|a, b| T::get(a).product(T::get(b)).put()),
        ("mul", ["hi"]) => lanes!(|a, b| high(T::get(a), T::get(b)).put()),
        ("mul", ["wide"]) if T::BITS < 64 => lanes!(|a, b| wide_product::<T>(a, b)),
        ("mad", ["lo"]) => lanes!(|a, b, c| T::get(a).product(T::get(b)).sum(T::get(c)).put()),
        ("mad", ["hi"]) => lanes!(|a, b, c| high(T::get(a), T::get(b)).sum(T::get(c)).put()),
        ("mad", ["wide"]) if T::BITS < 64 => {
            lanes!(|a, b, c| wide_product::<T>(a, b).wrapping_add(c) & low_bits(2 * T::BITS))
        }
        ("sad", []) => lanes!(|a, b, c| {
            let (larger, smaller) = (T::get(a).max(T::get(b)), T::get(a).min(T::get(b)));
            larger.difference(smaller).sum(T::get(c)).put()
        }),
        ("div", []) => lanes!(|a, b| T::get(a).divide(T::get(b)).put()),
        ("rem", []) => lanes!(|a, b| T::get(a).remainder(T::get(b)).put()),
        ("min", []) => lanes!(|a, b| T::get(a).min(T::get(b)).put()),
        ("max", []) => lanes!(|a, b| T::get(a).max(T::get(b)).put()),
        ("abs", []) if T::SIGNED => lanes!(|a| T::narrow(T::get(a).wide().abs()).put()),
        ("neg", []) if T::SIGNED => lanes!(|a| T::narrow(-T::get(a).wide()).put()),
        ("shr", []) => lanes!(|a, b| T::get(a).right(b as u32).put()),
        ("bfe", []) if T::BITS >= 32 => lanes!(|a, b, c| bit_field::<T>(a, b, c)),
        ("bfind", []) if T::BITS >= 32 => lanes!(|a| leading_bit::<T>(a).into()),
        ("bfind", ["shiftamt"]) if T::BITS >= 32 => lanes!(|a| {
            let bit = leading_bit::<T>(a);
            if bit == u32::MAX { bit } else { T::BITS - 1 - bit }.into()
        }),
        _ => return None,
    })
}

/// Instructions on untyped bits.
fn of_bits<T: Integer>(opcode: &Opcode<'_>) -> Option<Operation> {
    if opcode.sat || !opcode.modifiers.is_empty() {
        return None;
    }
    Some(match opcode.name {
        "and" => lanes!(|a, b| T::get(a & b).put()),
        "or" => lanes!(|a, b| T::get(a | b).put()),
        "xor" => lanes!(|a, b| T::get(a ^ b).put()),
        "not" => lanes!(|a| T::get(!a).put()),
        "cnot" => lanes!(|a| u64::from(T::get(a).put() == 0)),
        "shl" => lanes!(|a, b| T::get(a).left(b as u32).put()),
        "shr" => lanes!(|a, b| T::get(a).right(b as u32).put()),
        "popc" if T::BITS >= 32 => lanes!(|a| T::get(a).put().count_ones().into()),
        "clz" if T::BITS >= 32 => lanes!(|a| u64::from(T::get(a).put().leading_zeros() - (64 - T::BITS))),
        "brev" if T::BITS >= 32 => lanes!(|a| T::get(a).put().reverse_bits() >> (64 - T::BITS)),
        "bfi" if T::BITS >= 32 => lanes!(|a, b, c, d| {
            let start = (c as u32 & 0xff).min(T::BITS);
            let length = (d as u32 & 0xff).min(T::BITS - start);
            let mask = if start < 64 { low_bits(length) << start } else { 0 };
            let field = if start < 64 { a << start } else { 0 };
            T::get(b & !mask | field & mask).put()
        }),
        _ => return None,
    })
}

/// Instructions on 32-bit words whose parts are moved about.
fn words(opcode: &Opcode<'_>) -> Option<Operation> {
    if opcode.sat {
        return None;
    }
    let (name, modifiers, types) = (opcode.name, opcode.modifiers.as_slice(), opcode.types.as_slice());
    Some(match (name, modifiers, types) {
        ("prmt", [], ["b32"]) => lanes!(|a, b, c| permute(a, b, c)),
        ("prmt", ["f4e"], ["b32"]) => {
            lanes!(|a, b, c| permute(a, b, [0x3210, 0x4321, 0x5432, 0x6543][c as usize & 3]))
        }
        ("prmt", ["b4e"], ["b32"]) => {
            lanes!(|a, b, c| permute(a, b, [0x5670, 0x6701, 0x7012, 0x0123][c as usize & 3]))
        }
        ("prmt", ["rc8"], ["b32"]) => {
            lanes!(|a, b, c| permute(a, b, [0x0000, 0x1111, 0x2222, 0x3333][c as usize & 3]))
        }
        ("prmt", ["ecl"], ["b32"]) => {
            lanes!(|a, b, c| permute(a, b, [0x3210, 0x3211, 0x3222, 0x3333][c as usize & 3]))
        }
        ("prmt", ["ecr"], ["b32"]) => {
            lanes!(|a, b, c| permute(a, b, [0x0000, 0x1110, 0x2210, 0x3210][c as usize & 3]))
        }
        ("prmt", ["rc16"], ["b32"]) => {
            lanes!(|a, b, c| permute(a, b, [0x1010, 0x3232, 0x1010, 0x3232][c as usize & 3]))
        }
        ("shf", ["l", "wrap"], ["b32"]) => lanes!(|a, b, c| funnel_left(a, b, c as u32 & 31)),
        ("shf", ["l", "clamp"], ["b32"]) => lanes!(|a, b, c| funnel_left(a, b, (c as u32).min(32))),
        ("shf", ["r", "wrap"], ["b32"]) => lanes!(|a, b, c| funnel_right(a, b, c as u32 & 31)),
        ("shf", ["r", "clamp"], ["b32"]) => lanes!(|a, b, c| funnel_right(a, b, (c as u32).min(32))),
        ("lop3", [], ["b32"]) => lanes!(|a, b, c, d| (0..8)
            .filter(|row| d >> row & 1 != 0)
            .map(|row| {
                let input = |value: u64, bit: u64| if row >> bit & 1 != 0 { value } else { !value };
                input(a, 2) & input(b, 1) & input(c, 0)
            })
            .fold(0, |all, row| all | row)
            & low_bits(32)),
        ("dp4a", [], ["u32", "u32"]) => {
            lanes!(|a, b, c| dot(c, |i| byte(a, i).into(), |i| byte(b, i).into()))
        }
        ("dp4a", [], ["s32", "s32"]) => {
            lanes!(|a, b, c| dot(c, |i| (byte(a, i) as i8).into(), |i| (byte(b, i) as i8).into()))
        }
        ("dp4a", [], ["u32", "s32"]) => {
            lanes!(|a, b, c| dot(c, |i| byte(a, i).into(), |i| (byte(b, i) as i8).into()))
        }
        ("dp4a", [], ["s32", "u32"]) => {
            lanes!(|a, b, c| dot(c, |i| (byte(a, i) as i8).into(), |i| byte(b, i).into()))
        }
        _ => return None,
    })
}

/// A value with the lowest `count` bits set; `count` may be the whole width.
fn low_bits(count: u32) -> u64 {
    if count >= 64 { !0 } else { (1 << count) - 1 }
}

fn high<T: Integer>(a: T, b: T) -> T {
    // The product of two u64 does not fit i128, but its bits are right.
    T::narrow(((a.wide().wrapping_mul(b.wide())) as u128 >> T::BITS) as i128)
}

fn wide_product<T: Integer>(a: u64, b: u64) -> u64 {
    (T::get(a).wide() * T::get(b).wide()) as u64 & low_bits(2 * T::BITS)
}

/// `bfe`: the field at `start` of `length` bits. Bits beyond the value are its sign, zero without one.
fn bit_field<T: Integer>(value: u64, start: u64, length: u64) -> u64 {
    let (start, length) = (start as u32 & 0xff, length as u32 & 0xff);
    if length == 0 {
        return 0;
    }
    let shifted = T::get(value).wide() >> start.min(T::BITS);
    let field = if length >= T::BITS {
        shifted
    } else if T::SIGNED {
        // The sign is the highest bit of the field, or the value's where the field goes beyond it.
        let unused = 128 - length;
        shifted << unused >> unused
    } else {
        shifted & ((1 << length) - 1)
    };
    T::narrow(field).put()
}

/// `bfind`: the highest bit that is set, or that differs from the sign; all ones where there is none.
fn leading_bit<T: Integer>(value: u64) -> u32 {
    let value = T::get(value).wide();
    let value = if value < 0 { !value } else { value };
    if value == 0 {
        u32::MAX
    } else {
        127 - value.leading_zeros()
    }
}

fn byte(value: u64, index: u32) -> u8 {
    (value >> (8 * index)) as u8
}

/// `prmt`: four bytes of eight, each by a digit of the selector; its highest bit replicates the byte's sign.
fn permute(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = (a & low_bits(32)) | b << 32;
    (0..4).fold(0, |result, index| {
        let digit = (selector >> (4 * index)) as u32 & 0xf;
        let chosen = byte(bytes, digit & 7);
        let chosen = match digit & 8 {
            0 => chosen,
            _ => ((chosen as i8) >> 7) as u8,
        };
        result | u64::from(chosen) << (8 * index)
    })
}

fn funnel_left(low: u64, high: u64, amount: u32) -> u64 {
    let both = (low & low_bits(32)) | high << 32;
    (both << amount >> 32) & low_bits(32)
}

fn funnel_right(low: u64, high: u64, amount: u32) -> u64 {
    let both = (low & low_bits(32)) | high << 32;
    (both >> amount) & low_bits(32)
}

fn dot(start: u64, a: impl Fn(u32) -> i32, b: impl Fn(u32) -> i32) -> u64 {
    let sum = (0..4).fold(start as i32, |sum, index| sum.wrapping_add(a(index) * b(index)));
    u64::from(sum as u32)
}
