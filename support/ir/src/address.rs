//! Addresses that are computed.

use inkwell::builder::{Builder, BuilderError};
use inkwell::values::{IntValue, PointerValue};

/// Builds the address that is so many bytes behind a pointer, wherever that may be.
///
/// # Errors
/// The builder has no place.
pub fn offset_by<'ctx>(
    builder: &Builder<'ctx>,
    pointer: PointerValue<'ctx>,
    bytes: IntValue<'ctx>,
) -> Result<PointerValue<'ctx>, BuilderError> {
    let byte = pointer.get_type().get_context().i8_type();
    // SAFETY: an array of bytes takes any one index, and nothing is promised of where it leads.
    unsafe { builder.build_gep(byte, pointer, &[bytes], "") }
}
