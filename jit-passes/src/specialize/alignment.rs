//! Pointer arguments are declared with the alignment they are launched with, where that is above what the
//! kernel declares.

use offloom_descriptor::{Descriptor, Pointer};
use offloom_ir::function_arguments::raise_alignment;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;

use super::{SpecializeError, pointers};

/// Declares the alignment of the kernel's pointer parameters.
///
/// # Errors
/// When the descriptor gives the alignment of something that is no pointer.
pub fn specialize_alignment<'ctx>(
    module: &Module<'ctx>,
    kernel: FunctionValue<'ctx>,
    descriptor: &Descriptor,
) -> Result<(), SpecializeError> {
    for (index, alignment) in pointers(kernel, descriptor, "an alignment", Pointer::alignment)? {
        raise_alignment(module, kernel, index, alignment.bytes());
    }
    Ok(())
}
