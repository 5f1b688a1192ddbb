//! The launch descriptor: what a kernel is specialised to.
//!
//! A descriptor names a kernel, the device architecture and, for each argument, what is known of it (the JIT
//! paper's section 4.6). Two launches with equal descriptors can run the same code. [`Descriptor`] is the
//! value; its [`Display`] and [`FromStr`] are the text form, described at [`text`].
//!
//! [`Display`]: std::fmt::Display
//! [`FromStr`]: std::str::FromStr
#![forbid(unsafe_code)]

mod alignment;
mod contents;
mod descriptor;
mod scalar;
pub mod text;

pub use alignment::Alignment;
pub use contents::Contents;
pub use descriptor::{Argument, Descriptor, MAX_ARGUMENTS, Pointer};
pub use scalar::{Scalar, ScalarType};
pub use text::{DescriptorError, Problem};
