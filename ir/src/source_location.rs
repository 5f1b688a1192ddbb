//! `ident_t`: where in the source a call of the OpenMP runtime stands.

use crate::symbol::Symbol;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};

unsafe extern "C" {
    fn offloom_ir_locate_calls(
        module: LLVMModuleRef,
        callees: *const LLVMValueRef,
        count: usize,
        region_ids: *const LLVMValueRef,
        functions: *const LLVMValueRef,
        region_count: usize,
    ) -> bool;
}

/// Gives each call of the runtime functions `callees` whose first argument is null the `ident_t` of its debug location, with the text
/// `;file;function;line;column;;`, as Clang does. A call without one gets the place of the function that it launches, `regions` saying
/// by its region id which that is, with column 0. Calls of which debug info knows neither stay as they are. Returns whether any call
/// changed. Linear in the calls and the regions.
pub fn locate_calls<'ctx>(
    module: &Module<'ctx>,
    callees: &[FunctionValue<'ctx>],
    regions: &[(Symbol<'ctx>, FunctionValue<'ctx>)],
) -> bool {
    let callees: Vec<_> = callees.iter().map(AsValueRef::as_value_ref).collect();
    let (region_ids, functions): (Vec<_>, Vec<_>) = regions
        .iter()
        .map(|(region_id, function)| (region_id.as_value_ref(), function.as_value_ref()))
        .unzip();
    // SAFETY: the module is live, the functions and region ids are its own, and each list is passed with its length.
    unsafe {
        offloom_ir_locate_calls(
            module.as_mut_ptr(),
            callees.as_ptr(),
            callees.len(),
            region_ids.as_ptr(),
            functions.as_ptr(),
            region_ids.len(),
        )
    }
}
