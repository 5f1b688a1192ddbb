//! The ahead-of-time code of kernels that have variants, for a variant to run where it finds at run time that
//! it is of no use for a launch.
//!
//! Where a base image offers it, it is an anchor, and the kernel in the variant module says under which name.

use offloom_ir::inkwell::attributes::AttributeLoc;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::symbol::Symbol;

use crate::survey::Anchor;

/// What a kernel's ahead-of-time code is called, in the base image, and where variants refer to it.
pub(crate) fn name_of(kernel: &str) -> String {
    format!("{kernel}.ahead_of_time")
}

/// String attribute of a kernel in the variant module: what its ahead-of-time code is called.
const ATTRIBUTE: &str = "offloom-ahead-of-time";

/// The anchor that offers a kernel's ahead-of-time code.
pub(crate) fn anchor(kernel: &str) -> Anchor {
    let name = name_of(kernel);
    Anchor {
        symbol: name.clone(),
        name,
    }
}

/// Notes with a kernel of the variant module that its ahead-of-time code is offered.
pub(crate) fn note(module: &Module<'_>, kernel: FunctionValue<'_>) {
    let name = name_of(&Symbol::from(kernel).name());
    let attribute = module.get_context().create_string_attribute(ATTRIBUTE, &name);
    kernel.add_attribute(AttributeLoc::Function, attribute);
}

/// Declares the kernel's ahead-of-time code in its module, which has nothing of that name yet; `None` where
/// no base image offers it.
pub(crate) fn declare<'ctx>(
    module: &Module<'ctx>,
    kernel: FunctionValue<'ctx>,
) -> Option<FunctionValue<'ctx>> {
    let attribute = kernel.get_string_attribute(AttributeLoc::Function, ATTRIBUTE)?;
    let name = attribute.get_string_value().to_str().ok()?;
    let code = module.add_function(name, kernel.get_type(), None);
    code.set_call_conventions(kernel.get_call_conventions());
    Some(code)
}
