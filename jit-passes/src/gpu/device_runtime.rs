//! The device runtime, which the bundle holds beside the kernels: they are prepared before it is linked to
//! them, since what is known of its functions by name is more than what is seen in their bodies.

use offloom_abi::jit_device_image::DEVICE_ENVIRONMENT_SYMBOL;
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::memory_buffer::MemoryBuffer;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::library::{Library, LibraryError};
use offloom_ir::reachable::keep_reachable;
use offloom_ir::symbol::{Symbol, SymbolKind, find, find_variable, symbols};
use offloom_ir::unused_code::drop_cases_not_passed;
use offloom_ir::used::{UsedList, set_used};

use super::GLOBAL_MEMORY;

/// What messages call the runtime.
const NAME: &str = "device runtime";

/// How the names of the constants start by which a compile says how the runtime is to be used
/// (`-fopenmp-assume-no-thread-state`, ...).
const CONFIGURATION_PREFIX: &str = "__omp_rtl_";

/// Functions of the runtime that LLVM's OpenMPOpt makes calls of, where there were none.
const MADE_BY_OPTIMIZER: [&str; 14] = [
    "__kmpc_alloc_shared",
    "__kmpc_barrier_simple_generic",
    "__kmpc_barrier_simple_spmd",
    "__kmpc_free_shared",
    "__kmpc_get_hardware_num_blocks",
    "__kmpc_get_hardware_num_threads_in_block",
    "__kmpc_get_hardware_thread_id_in_block",
    "__kmpc_get_warp_size",
    "__kmpc_is_spmd_exec_mode",
    "__kmpc_kernel_end_parallel",
    "__kmpc_kernel_parallel",
    "__kmpc_parallel_51",
    "__kmpc_parallel_60",
    "__kmpc_parallel_level",
];

/// Cuts the runtime down to what `kernels`, and the optimiser, may call of it. Its configuration becomes that
/// of `program`, whose definitions come before the runtime's in a link, and constants that it leaves to the
/// program are the program's (`__oclc_ABI_version`, the version of code objects that Clang compiles for).
pub fn cut_down(runtime: &Module<'_>, kernels: &Module<'_>, program: &Module<'_>) {
    for variable in symbols(runtime) {
        let name = variable.name();
        let is_of_program =
            variable.is_declaration() || (variable.is_constant() && name.starts_with(CONFIGURATION_PREFIX));
        if variable.kind() == SymbolKind::Variable
            && is_of_program
            && let Some(given) = program.get_global(&name)
            && given.is_constant()
            && let Some(value) = given.get_initializer()
            && let Some(own) = runtime.get_global(&name)
            && own.get_value_type() == given.get_value_type()
        {
            own.set_initializer(&value);
            own.set_constant(true);
        }
    }
    let called = symbols(kernels)
        .into_iter()
        .filter(|global| global.is_declaration())
        .map(Symbol::name);
    let made = MADE_BY_OPTIMIZER.into_iter().map(str::to_owned);
    let mut roots: Vec<Symbol<'_>> = called
        .chain(made)
        .filter_map(|name| find(runtime, &name))
        .filter(|global| !global.is_declaration())
        .filter_map(Symbol::as_function)
        .map(Symbol::from)
        .collect();
    roots.extend(find_variable(runtime, DEVICE_ENVIRONMENT_SYMBOL));
    set_used(runtime, UsedList::Used, &[]);
    set_used(runtime, UsedList::CompilerUsed, &[]);
    keep_reachable(runtime, &roots);
    // `__kmpc_parallel_51` has an arm for each number of arguments that a parallel region may have, 14,000 of
    // the 16,000 instructions that a small kernel has with it. Each of LLVM's rounds of OpenMPOpt looked at
    // all of them.
    drop_cases_not_passed(runtime, program);
    keep_reachable(runtime, &roots);
}

/// Whose calls of the runtime are to be linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Those of the module.
    OfModule,
    /// Those that OpenMPOpt may make of it as well, as it does of kernels in generic mode, and what
    /// libomptarget looks up.
    OfOptimizer,
}

/// Links to a module what it calls of the runtime. That becomes the module's own, but for the variable that
/// the driver's side writes. The rest stays out.
///
/// # Errors
/// When the bitcode is none, or does not go together with the module.
pub(crate) fn link(module: &Module<'_>, bitcode: &[u8], calls: Calls) -> Result<(), LibraryError> {
    if bitcode.is_empty() {
        return Ok(());
    }
    let bytes = MemoryBuffer::create_from_memory_range_copy(bitcode, NAME);
    let library = Library::read(module, bytes, NAME)?;
    let mut declared = Vec::new();
    if calls == Calls::OfOptimizer {
        let context = module.get_context();
        // Of whatever type: the definition's takes its place.
        let function = context.void_type().fn_type(&[], false);
        declared.extend(
            MADE_BY_OPTIMIZER
                .into_iter()
                .filter(|name| find(module, name).is_none()),
        );
        for name in &declared {
            module.add_function(name, function, Some(Linkage::External));
        }
        if module.get_global(DEVICE_ENVIRONMENT_SYMBOL).is_none() {
            let space = AddressSpace::from(GLOBAL_MEMORY);
            module.add_global(context.i8_type(), Some(space), DEVICE_ENVIRONMENT_SYMBOL);
        }
    }
    library.link_needed(module)?;
    // The other release's.
    for name in declared {
        if let Some(other) = find(module, name).filter(|function| function.is_declaration()) {
            other.erase_if_unused();
        }
    }
    if let Some(environment) = module.get_global(DEVICE_ENVIRONMENT_SYMBOL) {
        environment.set_linkage(Linkage::External);
        // Its first value, which the file has, is not what it holds when a kernel runs.
        environment.set_externally_initialized(true);
    }
    Ok(())
}
