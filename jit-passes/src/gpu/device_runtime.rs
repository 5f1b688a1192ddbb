//! The device runtime, which the bundle holds beside the kernels: they are prepared before it is linked to them, since what is known of its
//! functions by name is more than what is seen in their bodies.

use offloom_abi::jit_device_image::DEVICE_ENVIRONMENT_SYMBOL;
use offloom_ir::inkwell::memory_buffer::MemoryBuffer;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::jit_globals::{GlobalKind, find, globals};
use offloom_ir::library::{Library, LibraryError};
use offloom_ir::reachable::keep_reachable;
use offloom_ir::symbol::{Symbol, find_variable};
use offloom_ir::used::{UsedList, set_used};

/// What messages call the runtime.
const NAME: &str = "device runtime";

/// How the names of the constants start by which a compile says how the runtime is to be used (`-fopenmp-assume-no-thread-state`, ...).
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

/// Cuts the runtime down to what `kernels`, and the optimiser, may call of it. Its configuration becomes that of `program`, whose definitions come
/// before the runtime's in a link.
pub fn cut_down(runtime: &Module<'_>, kernels: &Module<'_>, program: &Module<'_>) {
    for variable in globals(runtime) {
        let name = variable.name();
        if variable.kind() == GlobalKind::Variable
            && variable.is_constant()
            && name.starts_with(CONFIGURATION_PREFIX)
            && let Some(given) = program.get_global(&name)
            && let Some(value) = given.get_initializer()
            && let Some(own) = runtime.get_global(&name)
            && own.get_value_type() == given.get_value_type()
        {
            own.set_initializer(&value);
        }
    }
    let called = globals(kernels)
        .into_iter()
        .filter(|global| global.is_declaration())
        .map(|global| global.name());
    let made = MADE_BY_OPTIMIZER.into_iter().map(str::to_owned);
    let mut roots: Vec<Symbol<'_>> = called
        .chain(made)
        .filter_map(|name| find(runtime, &name))
        .filter(|global| !global.is_declaration())
        .filter_map(|global| global.as_function())
        .map(Symbol::from)
        .collect();
    roots.extend(find_variable(runtime, DEVICE_ENVIRONMENT_SYMBOL));
    set_used(runtime, UsedList::Used, &[]);
    set_used(runtime, UsedList::CompilerUsed, &[]);
    keep_reachable(runtime, &roots);
}

/// Links the runtime to a variant's module. It becomes the module's own, but for the variable that the driver's side writes.
///
/// # Errors
/// When the bitcode is none, or does not go together with the module.
pub(crate) fn link(module: &Module<'_>, bitcode: &[u8]) -> Result<(), LibraryError> {
    if bitcode.is_empty() {
        return Ok(());
    }
    let bytes = MemoryBuffer::create_from_memory_range_copy(bitcode, NAME);
    Library::read(module, bytes, NAME)?.link_all(module)?;
    if let Some(environment) = module.get_global(DEVICE_ENVIRONMENT_SYMBOL) {
        environment.set_linkage(Linkage::External);
        // Its first value, which the file has, is not what it holds when a kernel runs.
        environment.set_externally_initialized(true);
    }
    Ok(())
}
