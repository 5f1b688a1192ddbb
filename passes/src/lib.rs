//! The pass plugin: `opt -load-pass-plugin=liboffloom_passes.so -passes=offload-entries`, `clang
//! -fpass-plugin=…`.
//!
//! [`registry`] lists every pass; each has a file of its own. What they share: [`markers`] (what a front end
//! wants offloaded), [`entry_record`] and [`offload_info`] (the two forms in which a module says so to the
//! tools behind it), [`target`].
#![forbid(unsafe_code)]

use llvm_plugin::PassBuilder;

mod entry_record;
mod environment;
mod error;
mod host_address;
mod markers;
mod offload_device;
mod offload_entries;
mod offload_info;
mod offload_internalize;
mod offload_match_bits;
mod offload_profitability;
mod offload_prune;
mod offload_retarget;
mod offload_runtime;
mod offload_specialize;
mod offload_team_state;
mod offload_visibility;
mod parameters;
mod registry;
mod source_locations;
mod target;

#[llvm_plugin::plugin(name = "offloom", version = "0.1.0")]
fn plugin_registrar(builder: &mut PassBuilder) {
    registry::register(builder);
}
