//! Makes the module that variants are compiled from: what the survey anchored is external, everything else is
//! its own.

use std::collections::HashMap;

use offloom_ir::codegen::{CodegenError, run_pipeline};
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::targets::TargetMachine;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::module::{delete_module_assembly, delete_unused_variable};
use offloom_ir::symbol::{AddressUse, Symbol, SymbolKind, find, functions, symbols};
use offloom_ir::used::{UsedList, set_used, used};

use crate::ahead_of_time;
use crate::gpu::is_for_gpu;
use crate::survey::{Survey, is_table};

/// Turns the surveyed module, or a clone of it, into the variant module. The kernels with a stub are its only
/// definitions that other objects see.
///
/// A mutable variable becomes a declaration. A constant or a function keeps its definition for the optimiser
/// to look into, but an address that survives is the base image's (`available_externally`); direct calls of
/// such a function go to an internal twin of it. No anchor stays `dso_local` or hidden: a variant may lie
/// further from the image than 32-bit offsets reach.
///
/// Code that only the base image runs is still there, listed in `llvm.compiler.used`, and so are the twins:
/// the optimiser is not to learn from a function's callers what it does not learn in the base image.
/// [`delete_other_code`] ends that.
///
/// # Errors
/// When a pass fails.
pub fn make_variant_module(
    module: &Module<'_>,
    survey: &Survey,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
) -> Result<(), CodegenError> {
    let anchors: HashMap<&str, &str> = survey
        .anchors
        .iter()
        .map(|anchor| (anchor.name.as_str(), anchor.symbol.as_str()))
        .collect();
    let is_for_gpu = is_for_gpu(module);
    delete_module_assembly(module);
    let others = other_code(module, survey, &anchors);
    delete_link_tables(module);
    for global in symbols(module) {
        let name = global.name();
        if survey.kernels.contains(&name) {
            global.become_external();
            if let Some(kernel) = global.as_function().filter(|_| !is_for_gpu) {
                ahead_of_time::note(module, kernel);
            }
        } else if global.is_declaration() || anchors.contains_key(name.as_str()) {
        } else if global.kind() == SymbolKind::Alias && global.is_interposable() {
            // Only code of the base image uses it. What it stands for may become a declaration, which none
            // can stand for.
            global.become_declaration();
        } else {
            global.become_internal();
        }
    }
    set_used(module, UsedList::CompilerUsed, &others);
    // Before definitions are dropped: what refers to them without being reached, such as an alias, must be
    // gone.
    run_pipeline(module, machine, errors, "globaldce")?;
    let mut kept = used(module, UsedList::CompilerUsed);
    for global in symbols(module) {
        if let Some(symbol) = anchors.get(global.name().as_str()) {
            kept.extend(make_anchor(global, symbol));
        }
    }
    set_used(module, UsedList::CompilerUsed, &kept);
    run_pipeline(module, machine, errors, "globaldce")
}

/// Leaves in the variant module what the kernels with a stub reach.
///
/// # Errors
/// When a pass fails.
pub(crate) fn delete_other_code(
    module: &Module<'_>,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
) -> Result<(), CodegenError> {
    set_used(module, UsedList::CompilerUsed, &[]);
    run_pipeline(module, machine, errors, "globaldce")
}

/// Functions that other objects, the loader or the linker may call, apart from the kernels with a stub and
/// what variants share.
fn other_code<'ctx>(
    module: &Module<'ctx>,
    survey: &Survey,
    anchors: &HashMap<&str, &str>,
) -> Vec<Symbol<'ctx>> {
    let is_other = |function: &Symbol<'_>| {
        let name = function.name();
        function.is_definition()
            && (!function.is_local() || is_in_link_table(*function))
            && !survey.kernels.contains(&name)
            && !anchors.contains_key(name.as_str())
    };
    functions(module).into_iter().filter(is_other).collect()
}

fn is_in_link_table(function: Symbol<'_>) -> bool {
    let uses = function
        .as_function()
        .map_or_else(Vec::new, |function| Symbol::from(function).address_uses());
    uses.into_iter()
        .any(|address_use| matches!(address_use, AddressUse::Initializer { of } if is_table(of)))
}

/// Deletes the tables that keep symbols alive or run code when an object is loaded; a variant has no use for
/// them.
fn delete_link_tables(module: &Module<'_>) {
    let tables: Vec<String> = symbols(module)
        .into_iter()
        .filter(|global| global.kind() == SymbolKind::Variable)
        .map(Symbol::name)
        .filter(|name| name.starts_with("llvm."))
        .collect();
    for table in tables {
        delete_unused_variable(module, &table);
    }
}

/// The twin, where there is one.
fn make_anchor<'ctx>(global: Symbol<'ctx>, symbol: &str) -> Option<Symbol<'ctx>> {
    let mut twin = None;
    if global.is_declaration() || global.is_interposable() {
        global.become_declaration().set_name(symbol);
        return None;
    }
    if global.kind() == SymbolKind::Function {
        if global.address_uses().contains(&AddressUse::Callee) {
            twin = global.split_direct_calls().as_function().map(Symbol::from);
        }
        global.become_available_externally();
    } else if global.is_constant() {
        global.become_available_externally();
    } else {
        global.become_declaration();
    }
    global.set_name(symbol);
    twin
}

/// Whether every kernel of the survey is defined: what the runtime relies on.
pub(crate) fn defines_all(module: &Module<'_>, survey: &Survey) -> bool {
    survey
        .kernels
        .iter()
        .all(|kernel| find(module, kernel).is_some_and(|kernel| !kernel.is_declaration()))
}
