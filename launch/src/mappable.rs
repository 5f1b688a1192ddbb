//! The types whose bytes may travel to a device and back.
#![expect(
    unsafe_code,
    reason = "which types are plain bytes cannot be told by the compiler"
)]

/// A type that a device can read and write: OpenMP's *mappable type*, as Rust needs it.
///
/// # Safety
/// Every bit pattern is a valid value (a device may leave memory unwritten that is copied back), there are no
/// padding bytes (a value is passed as its bytes), and the layout is the one that the kernel's source expects
/// (`#[repr(C)]` or `#[repr(transparent)]`). `bool` and `char` are not mappable: pass `u8` and `u32`.
pub unsafe trait Mappable: Copy + 'static {}

macro_rules! mappable {
    ($($type:ty)*) => {
        $(
            // SAFETY: a number: every bit pattern is a value, and it has no padding.
            unsafe impl Mappable for $type {}
        )*
    };
}

mappable!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize f32 f64);

// SAFETY: an array is its elements, without anything between them.
unsafe impl<T: Mappable, const N: usize> Mappable for [T; N] {}
