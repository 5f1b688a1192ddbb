//! Pointer arguments are declared with the alignment they are launched with, where that is above what the kernel declares.

use offloom_ir::function_arguments::raise_alignment;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;
use offloom_jit_cache::descriptor::{Argument, Descriptor};

use super::SpecializeError;

/// Declares the alignment of the kernel's pointer parameters.
///
/// # Errors
/// When the descriptor gives the alignment of something that is no pointer.
pub fn specialize_alignment<'ctx>(
    module: &Module<'ctx>,
    kernel: FunctionValue<'ctx>,
    descriptor: &Descriptor,
) -> Result<(), SpecializeError> {
    for (index, parameter) in kernel.get_param_iter().enumerate() {
        let Argument::Pointer(pointer) = descriptor.argument(index) else {
            continue;
        };
        let Some(alignment) = pointer.alignment() else {
            continue;
        };
        if !parameter.is_pointer_value() {
            return Err(SpecializeError::WrongKind {
                kernel: descriptor.kernel.clone(),
                index,
                parameter: parameter.get_type().print_to_string().to_string(),
                given: "an alignment".to_owned(),
            });
        }
        raise_alignment(module, kernel, index as u32, alignment.bytes());
    }
    Ok(())
}
