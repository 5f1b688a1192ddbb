//! Where in the source something stands: calls of the OpenMP runtime (`ident_t`), functions.

use std::ffi::{c_char, c_void};

use crate::kernel_source::text;
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
    fn offloom_ir_describe_function(function: LLVMValueRef, receiver: *mut c_void, take: TakeFunction);
}

/// Gets the name of a function, its file, each with its size, and its line.
type TakeFunction = extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize, u32);

/// What the source says of a function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionInSource {
    /// Its name, that of C++ and Rust demangled.
    pub name: String,
    /// Its file, as the compiler was given it, and the line it begins in; `None` without debug info.
    pub place: Option<(String, u32)>,
}

/// What a person calls a function, and where it is.
pub fn function_in_source(function: FunctionValue<'_>) -> FunctionInSource {
    extern "C" fn take(
        receiver: *mut c_void,
        name: *const c_char,
        name_size: usize,
        file: *const c_char,
        file_size: usize,
        line: u32,
    ) {
        // SAFETY: the shim hands on the receiver, and strings with their sizes.
        unsafe {
            *receiver.cast::<FunctionInSource>() = FunctionInSource {
                name: text(name, name_size),
                place: (line > 0).then(|| (text(file, file_size), line)),
            };
        }
    }
    let mut found = FunctionInSource::default();
    // SAFETY: a live function; the receiver outlives the call, and is what `take` takes it for.
    unsafe { offloom_ir_describe_function(function.as_value_ref(), (&raw mut found).cast(), take) };
    found
}

/// Gives each call of the runtime functions `callees` whose first argument is null the `ident_t` of its debug
/// location, with the text `;file;function;line;column;;`, as Clang does. A call without one gets the place
/// of the function that it launches, `regions` saying by its region id which that is, with column 0. Calls of
/// which debug info knows neither stay as they are. Returns whether any call changed. Linear in the calls and
/// the regions.
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
    // SAFETY: the module is live, the functions and region ids are its own, and each list is passed with its
    // length.
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
