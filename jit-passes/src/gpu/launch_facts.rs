//! What a GPU kernel says of its launch, and of how it was compiled.

use offloom_abi::jit_bundle::{ExecutionMode, LaunchFacts};
use offloom_abi::jit_device_image::kernel_environment;
use offloom_ir::gpu::kernel_configuration;
use offloom_ir::inkwell::module::Module;
use offloom_ir::symbol::{Symbol, find};

/// Attributes in which Clang leaves the numbers of clauses.
const THREAD_LIMIT: &str = "omp_target_thread_limit";
const NUM_TEAMS: &str = "omp_target_num_teams";

/// What the environment and the attributes of a kernel say; `None` where it has no environment that is known.
pub fn launch_facts(module: &Module<'_>, kernel: &str) -> Option<LaunchFacts> {
    let environment = module.get_global(&kernel_environment(kernel))?;
    let [
        _state_machine,
        _nesting,
        mode,
        min_threads,
        max_threads,
        min_teams,
        max_teams,
        reduction_data_size,
        reduction_buffer_length,
    ] = kernel_configuration(environment)?;
    let function = find(module, kernel)?.as_function().map(Symbol::from);
    let number = |key| {
        let text = function?.string_attribute(key)?;
        text.parse().ok()
    };
    Some(LaunchFacts {
        mode: ExecutionMode::from_number(u8::try_from(mode).ok()?)?,
        min_threads,
        max_threads,
        min_teams,
        max_teams,
        reduction_data_size,
        reduction_buffer_length,
        thread_limit: number(THREAD_LIMIT).unwrap_or_default(),
        num_teams: number(NUM_TEAMS).unwrap_or_default(),
    })
}

/// The version of PTX that a kernel was compiled for, in LLVM's form (`+ptx83`); empty: none is said.
pub(crate) fn ptx_version(module: &Module<'_>, kernel: &str) -> String {
    let function = find(module, kernel)
        .and_then(Symbol::as_function)
        .map(Symbol::from);
    let features = function.and_then(|function| function.string_attribute("target-features"));
    let features = features.unwrap_or_default();
    let mut versions = features.split(',').filter(|name| name.starts_with("+ptx"));
    versions.next_back().unwrap_or_default().to_owned()
}
