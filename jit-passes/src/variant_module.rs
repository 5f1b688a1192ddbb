//! Makes the module that variants are compiled from: what the survey anchored is external, everything else is its own.

use std::collections::HashMap;

use offloom_ir::codegen::{CodegenError, run_pipeline};
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::targets::TargetMachine;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::jit_globals::{
    AddressUse, Global, GlobalKind, delete_module_assembly, delete_unused_variable, find, globals,
};

use crate::survey::Survey;

/// Turns the surveyed module, or a clone of it, into the variant module. The kernels with a stub are its only definitions that
/// other objects see.
///
/// A mutable variable becomes a declaration. A constant or a function keeps its definition for the optimiser to look into, but
/// an address that survives is the base image's (`available_externally`); direct calls of such a function go to an internal
/// twin of it. No anchor stays `dso_local` or hidden: a variant may lie further from the image than 32-bit offsets reach.
///
/// # Errors
/// When a pass fails.
pub fn make_variant_module(
    module: &Module<'_>,
    survey: &Survey,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
) -> Result<(), CodegenError> {
    let symbols: HashMap<&str, &str> = survey
        .anchors
        .iter()
        .map(|anchor| (anchor.name.as_str(), anchor.symbol.as_str()))
        .collect();
    delete_module_assembly(module);
    delete_link_tables(module);
    for global in globals(module) {
        let name = global.name();
        if survey.kernels.contains(&name) {
            global.become_external();
        } else if !global.is_declaration() && !symbols.contains_key(name.as_str()) {
            global.become_internal();
        }
    }
    // Before definitions are dropped: what refers to them without being reached, such as an alias, must be gone.
    run_pipeline(module, machine, errors, "globaldce")?;
    for global in globals(module) {
        if let Some(symbol) = symbols.get(global.name().as_str()) {
            make_anchor(global, symbol);
        }
    }
    run_pipeline(module, machine, errors, "globaldce")
}

/// Deletes the tables that keep symbols alive or run code when an object is loaded; a variant has no use for them.
fn delete_link_tables(module: &Module<'_>) {
    let tables: Vec<String> = globals(module)
        .into_iter()
        .filter(|global| global.kind() == GlobalKind::Variable)
        .map(Global::name)
        .filter(|name| name.starts_with("llvm."))
        .collect();
    for table in tables {
        delete_unused_variable(module, &table);
    }
}

fn make_anchor(global: Global<'_>, symbol: &str) {
    if global.is_declaration() || global.is_interposable() {
        global.become_declaration();
    } else if global.kind() == GlobalKind::Function {
        if global.address_uses().contains(&AddressUse::Callee) {
            global.split_direct_calls();
        }
        global.become_available_externally();
    } else if global.is_constant() {
        global.become_available_externally();
    } else {
        global.become_declaration();
    }
    global.set_name(symbol);
}

/// Whether every kernel of the survey is defined: what the runtime relies on.
pub(crate) fn defines_all(module: &Module<'_>, survey: &Survey) -> bool {
    survey
        .kernels
        .iter()
        .all(|kernel| find(module, kernel).is_some_and(|kernel| !kernel.is_declaration()))
}
