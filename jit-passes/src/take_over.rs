//! Puts a new function in the place of a kernel, of which the kernel is left the code.

use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::types::FunctionType;
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::symbol::Symbol;

/// Declares a function of this type that takes over the kernel's name, uses and visibility. The kernel gets
/// the name `code`, and is internal from then on.
pub(crate) fn take_over<'ctx>(
    module: &Module<'ctx>,
    kernel: FunctionValue<'ctx>,
    function_type: FunctionType<'ctx>,
    name: &str,
    code: &str,
) -> FunctionValue<'ctx> {
    let global = kernel.as_global_value();
    let function = module.add_function("offloom.stub", function_type, Some(global.get_linkage()));
    function.as_global_value().set_visibility(global.get_visibility());
    function
        .as_global_value()
        .set_unnamed_address(global.get_unnamed_address());
    function.set_call_conventions(kernel.get_call_conventions());
    kernel.replace_all_uses_with(function);
    Symbol::from(kernel).set_name(code);
    Symbol::from(function).set_name(name);
    Symbol::from(kernel).become_internal();
    function
}
