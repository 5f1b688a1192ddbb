//! Which bits a NaN has that an instruction makes or passes on, as an H100 does it.

/// The one NaN that single-precision instructions answer.
pub(crate) const SINGLE: u32 = 0x7fff_ffff;

/// The one NaN that half-precision instructions answer, in both formats.
pub(crate) const HALF: u16 = 0x7fff;

/// What double-precision instructions answer where no input is a NaN and the result is none of the numbers.
const DOUBLE_INVALID: u64 = 0xfff8_0000_0000_0000;

/// The bit that makes a NaN a quiet one.
const DOUBLE_QUIET: u64 = 0x0008_0000_0000_0000;

/// A single-precision result, NaNs made the one.
#[inline(always)]
pub(crate) fn single(value: f32) -> u64 {
    if value.is_nan() { SINGLE } else { value.to_bits() }.into()
}

/// A double-precision result of an instruction with these inputs: the last NaN among them, made quiet.
#[inline(always)]
pub(crate) fn double<const N: usize>(value: f64, inputs: [f64; N]) -> u64 {
    if value.is_nan() {
        inputs
            .iter()
            .rfind(|input| input.is_nan())
            .map_or(DOUBLE_INVALID, |nan| nan.to_bits() | DOUBLE_QUIET)
    } else {
        value.to_bits()
    }
}
