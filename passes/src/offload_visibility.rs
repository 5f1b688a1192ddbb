//! `offload-visibility`: what a device module exports cannot be replaced by another image's symbol.
//!
//! Before: `define weak_odr void @kernel()`      After: `define weak_odr protected void @kernel()`
//!
//! Definitions with default visibility become protected, as Clang's device jobs make them with
//! `-fvisibility=protected`; explicit `hidden` and `protected` are kept. IR does not tell a default that the
//! source asked for (as the C++ library does) from any other: a front end that has this says so with the
//! string attribute `"offload-visibility"="default"`. Left alone, as Clang leaves them: declarations, offload
//! entries, the pointers to `link` variables (`*_decl_tgt_ref_ptr`), the locks of critical sections, the
//! buffer of Clang's reductions on GPUs, and LLVM's own lists.
//!
//! Unasked it runs at the start of every compile of a device module with an explicit marker; Clang's own have
//! none.

use crate::error::PassError;
use crate::markers;
use crate::parameters::Parameters;
use crate::registry::{ExtensionPoint, Pass, Unasked};
use crate::target;
use llvm_plugin::PreservedAnalyses;
use offloom_abi::names::is_link_reference;
use offloom_ir::inkwell::GlobalVisibility;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::offload_symbol::is_entry;
use offloom_ir::symbol::{Symbol, symbols};

/// Where reductions of Clang's GPU code hand values from warp to warp. Clang gives it default visibility,
/// whatever it is told.
const REDUCTION_BUFFER: &str = "__openmp_nvptx_data_transfer_temporary_storage";

/// How the names of the locks of critical sections start, behind a separator that is another one on other
/// targets. All images have one lock of a name.
const CRITICAL_LOCK: &str = "gomp_critical_user_";

pub(crate) const PASS: Pass = Pass {
    name: "offload-visibility",
    parameters: &[],
    run,
    unasked: Some(Unasked {
        at: ExtensionPoint::PipelineStart,
        concerns: |module| target::is_device(module) && markers::any_explicit(module),
    }),
};

pub(crate) fn run(module: &Module<'_>, _: &Parameters) -> Result<PreservedAnalyses, PassError> {
    let mut preserved = PreservedAnalyses::All;
    for symbol in symbols(module) {
        if could_be_protected(symbol) && !markers::is_explicit_default(symbol)? {
            symbol.set_visibility(GlobalVisibility::Protected);
            preserved = PreservedAnalyses::None;
        }
    }
    Ok(preserved)
}

fn could_be_protected(symbol: Symbol<'_>) -> bool {
    if symbol.visibility() != GlobalVisibility::Default || symbol.is_local() || !symbol.is_definition() {
        return false;
    }
    if symbol.linkage() == Linkage::Appending || is_entry(symbol) {
        return false;
    }
    let name = symbol.name();
    let is_lock = symbol.linkage() == Linkage::Common
        && name.get(1..).is_some_and(|name| name.starts_with(CRITICAL_LOCK));
    !is_lock && !name.starts_with("llvm.") && !is_link_reference(&name) && name != REDUCTION_BUFFER
}
