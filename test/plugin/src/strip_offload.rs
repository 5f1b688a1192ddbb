//! `test-strip-offload`: takes away what `offload-entries` and `offload-visibility` must restore.
//!
//! Entries, their names, `omp_offload.info` and (LLVM 22) `llvm.offloading.symbols` go; on a device protected definitions get default
//! visibility. Of what only the source knew a marker is left: which variables and `indirect` functions are `declare target`, and how;
//! which functions have default visibility because the source says so. Entries of `requires`
//! directives stay.

use llvm_plugin::diagnostics::{Severity, diagnose};
use llvm_plugin::inkwell::GlobalVisibility;
use llvm_plugin::inkwell::module::Module;
use llvm_plugin::{LlvmModulePass, ModuleAnalysisManager, PassBuilder, PipelineParsing, PreservedAnalyses};
use offloom_abi::entry::{self, EntryFlags};
use offloom_abi::names::{
    LINK_REFERENCE_SUFFIX, OFFLOAD_INFO_DEVICE_GLOBAL, OFFLOAD_INFO_METADATA, OFFLOADING_SYMBOLS_METADATA,
    OPENMP_DEVICE_MODULE_FLAG,
};
use offloom_ir::LLVM;
use offloom_ir::metadata::{Operand, append_node, nodes};
use offloom_ir::module::erase_named_metadata;
use offloom_ir::symbol::{Symbol, SymbolKind, find_variable, symbols, variables};

pub(crate) fn register(builder: &mut PassBuilder) {
    builder.add_module_pipeline_parsing_callback(|text, manager| {
        if text != "test-strip-offload" {
            return PipelineParsing::NotParsed;
        }
        manager.add_pass(StripOffload);
        PipelineParsing::Parsed
    });
}

struct StripOffload;

impl LlvmModulePass for StripOffload {
    fn run_pass(&self, module: &mut Module<'_>, _: &ModuleAnalysisManager) -> PreservedAnalyses {
        leave_markers(module);
        erase_named_metadata(module, OFFLOAD_INFO_METADATA);
        let symbols_before = nodes(module, OFFLOADING_SYMBOLS_METADATA);
        erase_named_metadata(module, OFFLOADING_SYMBOLS_METADATA);
        let names_left = erase_entries(module);
        for node in symbols_before {
            if matches!(&node[..], [Operand::Symbol(symbol)] if names_left.contains(symbol)) {
                append_node(module, OFFLOADING_SYMBOLS_METADATA, &node);
            }
        }
        if module.get_flag(OPENMP_DEVICE_MODULE_FLAG).is_some() {
            for symbol in symbols(module) {
                match symbol.visibility() {
                    GlobalVisibility::Protected => symbol.set_visibility(GlobalVisibility::Default),
                    // Only the source knew that it asked for this.
                    GlobalVisibility::Default if is_exported_function(symbol) => {
                        symbol.set_string_attribute("offload-visibility", "default");
                    }
                    _ => {}
                }
            }
        }
        PreservedAnalyses::None
    }
}

/// Marks what `omp_offload.info` lists.
fn leave_markers(module: &Module<'_>) {
    for node in nodes(module, OFFLOAD_INFO_METADATA) {
        let [
            Operand::Integer(OFFLOAD_INFO_DEVICE_GLOBAL),
            Operand::String(name),
            Operand::Integer(flags),
            _,
        ] = &node[..]
        else {
            continue;
        };
        let (symbol, word) = match (EntryFlags(*flags), name.strip_suffix(LINK_REFERENCE_SUFFIX)) {
            // The variable itself; the device module has only the pointer to it.
            (EntryFlags::LINK, Some(variable)) => {
                let variable = find_variable(module, variable);
                (variable.or_else(|| find_variable(module, name)), "link")
            }
            (EntryFlags::NONE, _) => (find_variable(module, name), "to"),
            // On the device the name tells.
            (EntryFlags::INDIRECT, _) => (indirect_function(module, name), "indirect"),
            _ => continue,
        };
        if let Some(symbol) = symbol {
            symbol.set_string_attribute("offload-entry", word);
            if word == "indirect" {
                symbol.set_string_attribute("offload-entry-name", name);
            }
        }
    }
}

fn is_exported_function(symbol: Symbol<'_>) -> bool {
    symbol.kind() == SymbolKind::Function && symbol.is_definition() && !symbol.is_local()
}

/// The host function in the entry called `name`.
fn indirect_function<'ctx>(module: &Module<'ctx>, name: &str) -> Option<Symbol<'ctx>> {
    let entry = find_variable(module, &entry::global_name(name))?;
    let symbols = entry.initializer_symbols();
    symbols
        .into_iter()
        .find(|symbol| symbol.kind() == SymbolKind::Function)
}

/// Erases the entries and their names. Returns the names that are still used.
fn erase_entries<'ctx>(module: &Module<'ctx>) -> Vec<Symbol<'ctx>> {
    let all = variables(module);
    let requires = entry::requires_global_name(LLVM);
    for &symbol in &all {
        let name = symbol.name();
        let is_entry = name.starts_with(entry::GLOBAL_PREFIX) && name != requires;
        if is_entry && !symbol.erase_if_unused() {
            diagnose(module, Severity::Error, &format!("the entry `{name}` is used"));
        }
    }
    // The entries of `all` are dead, so look again.
    let names = variables(module)
        .into_iter()
        .filter(|symbol| symbol.name().starts_with(entry::NAME_GLOBAL));
    names.filter(|name| !name.erase_if_unused()).collect()
}
