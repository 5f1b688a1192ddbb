//! `test-strip-offload`: takes away what `offload-entries` and `offload-visibility` must restore.
//!
//! Entries, their names, `omp_offload.info` and (LLVM 22) `llvm.offloading.symbols` go; on a device protected
//! definitions get default visibility. Of what only the source knew a marker is left: which variables,
//! `indirect` functions and tables of virtual functions are `declare target`, and how; which functions have
//! default visibility because the source says so; the clauses of `requires` directives.

use llvm_plugin::diagnostics::{Severity, diagnose};
use llvm_plugin::inkwell::GlobalVisibility;
use llvm_plugin::inkwell::module::Module;
use llvm_plugin::inkwell::values::BasicValueEnum;
use llvm_plugin::{LlvmModulePass, ModuleAnalysisManager, PassBuilder, PipelineParsing, PreservedAnalyses};
use offloom_abi::entry::{self, EntryField, EntryFlags};
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
        erase_named_metadata(module, OFFLOADING_SYMBOLS_METADATA);
        erase_entries(module);
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

/// Marks what `omp_offload.info` lists, and says what the module requires.
fn leave_markers(module: &Module<'_>) {
    if let Some(clauses) = required_clauses(module) {
        append_node(module, "offload.requires", &[Operand::Integer(clauses)]);
    }
    let is_device = module.get_flag(OPENMP_DEVICE_MODULE_FLAG).is_some();
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
            (EntryFlags::INDIRECT | EntryFlags::INDIRECT_VTABLE, _) if !is_device => {
                (address_in_entry(module, name), "indirect")
            }
            // On the device the name of an `indirect` constant tells.
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

/// The clauses in the entry of the `requires` directives.
fn required_clauses(module: &Module<'_>) -> Option<u32> {
    let name = entry::global_name(entry::requires_name(LLVM));
    let (data_field, _) = entry::field(LLVM, EntryField::Data)?;
    let BasicValueEnum::StructValue(record) = find_variable(module, &name)?.initializer()? else {
        return None;
    };
    let BasicValueEnum::IntValue(data) = record.get_field_at_index(data_field)? else {
        return None;
    };
    data.get_zero_extended_constant()?.try_into().ok()
}

fn is_exported_function(symbol: Symbol<'_>) -> bool {
    symbol.kind() == SymbolKind::Function && symbol.is_definition() && !symbol.is_local()
}

/// What the entry called `name` holds the address of.
fn address_in_entry<'ctx>(module: &Module<'ctx>, name: &str) -> Option<Symbol<'ctx>> {
    let entry = find_variable(module, &entry::global_name(name))?;
    entry.initializer_symbols().into_iter().next()
}

/// Erases the entries, then their names.
fn erase_entries(module: &Module<'_>) {
    for prefix in [entry::GLOBAL_PREFIX, entry::NAME_GLOBAL] {
        for symbol in variables(module) {
            let name = symbol.name();
            if name.starts_with(prefix) && !symbol.erase_if_unused() {
                diagnose(module, Severity::Error, &format!("`{name}` is used"));
            }
        }
    }
}
