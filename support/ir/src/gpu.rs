//! Device code for NVIDIA GPUs: how it uses addresses, tables in the place of addresses, and approximations.

use crate::LLVM;
use crate::symbol::{Symbol, SymbolKind};
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue, GlobalValue};

unsafe extern "C" {
    fn offloom_ir_is_address_observed(variable: LLVMValueRef) -> bool;
    fn offloom_ir_calls_through_pointer(function: LLVMValueRef) -> bool;
    fn offloom_ir_kernel_configuration(environment: LLVMValueRef, fields: *mut i32, count: usize) -> bool;
    fn offloom_ir_bind_to_table(
        table: LLVMValueRef,
        variables: *const LLVMValueRef,
        count: usize,
    ) -> LLVMValueRef;
    fn offloom_ir_hide_operands(module: LLVMModuleRef) -> usize;
    fn offloom_ir_has_constant_operand(module: LLVMModuleRef) -> bool;
    fn offloom_ir_show_operands(module: LLVMModuleRef, zero: LLVMValueRef);
    fn offloom_ir_use_generic_addresses(kernel: LLVMValueRef) -> usize;
    fn offloom_ir_widen_sums(module: LLVMModuleRef) -> usize;
    fn offloom_ir_release_counted_loops(module: LLVMModuleRef, rounds: u32, instructions: u32) -> usize;
}

/// Whether the program can tell a variable from a copy that is gone after a time: it compares the address,
/// stores it, or hands it on. What the functions of the device runtime are handed, `__kmpc_`, they only read,
/// and formats are printed in time.
pub fn is_address_observed(variable: Symbol<'_>) -> bool {
    // SAFETY: only asked of live variables.
    variable.kind() == SymbolKind::Variable
        && unsafe { offloom_ir_is_address_observed(variable.as_global_value().as_value_ref()) }
}

/// Whether the function calls through a pointer that it has from elsewhere; not what the device runtime gives
/// a worker for its parallel region.
pub fn calls_through_pointer(function: FunctionValue<'_>) -> bool {
    // SAFETY: a live function.
    unsafe { offloom_ir_calls_through_pointer(function.as_value_ref()) }
}

/// How many fields the configuration in a kernel's environment has: whether it uses the generic state
/// machine, whether parallel regions may be nested, the execution mode, the fewest and the most threads, the
/// fewest and the most teams, bytes of a reduction, and the length of its buffer
/// (`ConfigurationEnvironmentTy`), which newer releases do not have.
pub const CONFIGURATION_FIELDS: usize = 9;

/// The configuration in a kernel's environment, 0 for what the release does not have; `None` where the
/// variable is no such environment.
pub fn kernel_configuration(environment: GlobalValue<'_>) -> Option<[i32; CONFIGURATION_FIELDS]> {
    let mut fields = [0; CONFIGURATION_FIELDS];
    let count = CONFIGURATION_FIELDS - usize::from(!LLVM.reduction_buffer_has_length);
    // SAFETY: a live variable, and at least as many numbers as are said.
    unsafe { offloom_ir_kernel_configuration(environment.as_value_ref(), fields.as_mut_ptr(), count) }
        .then_some(fields)
}

/// Replaces each variable by the address in the element of `table` that has its place among `variables`;
/// those that are `None` are not used. The variables are gone afterwards.
///
/// # Errors
/// The name of a variable of which an initial value needs the address. The module was then changed in part.
pub fn bind_to_table(table: GlobalValue<'_>, variables: &[Option<Symbol<'_>>]) -> Result<(), String> {
    let variables: Vec<LLVMValueRef> = variables
        .iter()
        .map(|variable| {
            variable.map_or(std::ptr::null_mut(), |variable| {
                variable.as_global_value().as_value_ref()
            })
        })
        .collect();
    // SAFETY: the table is an array of at least as many pointers; the variables are live or null, and passed
    // with their number.
    let needed =
        unsafe { offloom_ir_bind_to_table(table.as_value_ref(), variables.as_ptr(), variables.len()) };
    if needed.is_null() {
        return Ok(());
    }
    // SAFETY: one of the variables, which is still there.
    let needed = unsafe { GlobalValue::new(needed) };
    Err(Symbol::from(needed).name())
}

/// Has LLVM unroll innermost loops that run a known number of times, at most `most_rounds`: a mark on them
/// that forbids it goes, and it is asked for where one is straight-line code that becomes at most
/// `most_instructions`. Returns how many loops.
///
/// LLVM marks the loop over the rest that unrolling leaves, so that nobody unrolls it again. Once the count
/// is known to be small, that loop is all there is. Straight-line code it leaves in a loop from a few hundred
/// instructions on, where each round loads again what another round has.
pub fn release_counted_loops(module: &Module<'_>, most_rounds: u32, most_instructions: u32) -> usize {
    // SAFETY: a live module.
    unsafe { offloom_ir_release_counted_loops(module.as_mut_ptr(), most_rounds, most_instructions) }
}

/// Has LLVM not see through the operands of approximations (`ex2.approx` and the like) that are no constants
/// yet. How many there were.
pub fn hide_approximated(module: &Module<'_>) -> usize {
    // SAFETY: the module is live.
    unsafe { offloom_ir_hide_operands(module.as_mut_ptr()) }
}

/// Whether an operand that was hidden is one that may be a constant by now.
pub fn has_approximated_constant(module: &Module<'_>) -> bool {
    // SAFETY: the module is live.
    unsafe { offloom_ir_has_constant_operand(module.as_mut_ptr()) }
}

/// Ends what [`hide_approximated`] began. Operands that may be constants by now become what neither LLVM nor
/// `ptxas` sees through, by the help of `zero`: the place of eight zero bytes that somebody else might
/// change. None: there are none such.
pub fn show_approximated(module: &Module<'_>, zero: Option<GlobalValue<'_>>) {
    let zero = zero.map_or(std::ptr::null_mut(), |zero| zero.as_value_ref());
    // SAFETY: the module is live, and the variable one of its own.
    unsafe { offloom_ir_show_operands(module.as_mut_ptr(), zero) }
}

/// Has a kernel access what its arguments lead to through generic addresses. Since LLVM 20 its passes cast
/// each of them to global memory by itself, and then see neither that two are neighbours nor how they are
/// aligned. Code generation casts the arguments. How many accesses were changed.
pub fn use_generic_addresses(kernel: FunctionValue<'_>) -> usize {
    // SAFETY: a live function.
    unsafe { offloom_ir_use_generic_addresses(kernel.as_value_ref()) }
}

/// Has sums of 32 bits that are extended to 64, and of which one part is there with 64 bits (it was cut from
/// them without loss, or is extended too), computed with 64 bits: LLVM keeps them as they are, and then no
/// constant of such a sum becomes part of an address. How many there were.
pub fn widen_sums(module: &Module<'_>) -> usize {
    // SAFETY: the module is live.
    unsafe { offloom_ir_widen_sums(module.as_mut_ptr()) }
}
