//! Hides what nobody outside of a device image can ask for: definitions become internal, so that the
//! optimiser may drop, inline and specialise them.
//!
//! Before: `define hidden void @helper()`        After: `define internal void @helper()`
//!
//! Kept as they are: kernels, entries and what they name, what the runtime looks up by name
//! ([`RUNTIME_SYMBOLS`]), what code generation may call by itself, what assembly mentions, inline or the
//! module's, the names that the caller gives or that a merge has noted ([`note_names`]), and every other
//! member of a comdat with one of these. What may be dropped where nobody uses it, as inline functions and
//! variables, may no longer. `@llvm.used` and `@llvm.compiler.used` lose all other symbols but those in
//! sections of their own; an empty list goes.
//!
//! Only for modules that no other bitcode will be linked to any more.

use std::collections::{HashMap, HashSet};

use offloom_abi::jit_base_image::ASKED_FOR_METADATA;
use offloom_abi::jit_device_image::KERNEL_ENVIRONMENT_SUFFIX;
use offloom_abi::kernel_name::KernelName;
use offloom_abi::names::{OFFLOAD_INFO_DEVICE_GLOBAL, OFFLOAD_INFO_METADATA, is_link_reference};
use offloom_ir::inkwell::GlobalVisibility;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::metadata::{Operand, append_node, nodes};
use offloom_ir::offload_symbol::{has_kernel_calling_convention, is_entry};
use offloom_ir::runtime_calls::is_runtime_call;
use offloom_ir::symbol::{Comdat, Symbol, SymbolKind, find, symbols, variables};
use offloom_ir::used::{UsedList, set_used, used};

use crate::assembly::Assembly;

/// What libomptarget's plugins look up in a device image, beside kernels and variables with entries: the
/// memory pools and `__llvm_libc_rpc_client` in LLVM 19, `__llvm_rpc_client` in LLVM 22, the others in both.
/// Source: `offload/plugins-nextgen`, and the strings in both `libomptarget`s. The constants
/// `__omp_rtl_debug_kind` and `__omp_rtl_assume_*` are not among them: device code alone reads those.
const RUNTIME_SYMBOLS: &[&str] = &[
    "__fini_array_end",
    "__fini_array_start",
    "__init_array_end",
    "__init_array_start",
    "__llvm_libc_rpc_client",
    "__llvm_rpc_client",
    "__omp_rtl_device_environment",
    "__omp_rtl_device_memory_pool",
    "__omp_rtl_device_memory_pool_tracker",
    "amdgcn.device.fini",
    "amdgcn.device.init",
    "nvptx$device$fini",
    "nvptx$device$init",
];

/// How the names start of what the plugins find by going through an image's symbols: constructors and
/// destructors of NVPTX code, and profiles with what their library needs.
const RUNTIME_PREFIXES: &[&str] = &[
    "__fini_array_object_",
    "__init_array_object_",
    "__llvm_prf_",
    "__llvm_profile_",
    "__profc_",
    "__profd_",
];

/// Makes internal whatever is not `exposed`. Returns whether something changed.
pub fn internalize(module: &Module<'_>, exposed: &Exposed<'_>) -> bool {
    let mut changed = false;
    for list in UsedList::BOTH {
        let listed = used(module, list);
        let kept: Vec<_> = listed
            .iter()
            .copied()
            .filter(|&symbol| exposed.contains(symbol) || is_found_by_section(symbol))
            .collect();
        if kept.len() < listed.len() {
            set_used(module, list, &kept);
            changed = true;
        }
    }
    let all = symbols(module);
    let groups = Groups::read(&all, exposed);
    for symbol in all {
        if !is_candidate(symbol) {
            continue;
        }
        if exposed.contains(symbol) {
            changed |= symbol.pin();
        } else if !groups.is_kept(symbol) {
            groups.leave(symbol);
            symbol.set_visibility(GlobalVisibility::Default);
            symbol.set_linkage(Linkage::Internal);
            changed = true;
        }
    }
    changed
}

/// Makes internal what neither the host program asks for, by the module's list of globals, nor has one of
/// these names, nor is exposed in any device module. Returns whether something changed.
pub fn internalize_unlisted(module: &Module<'_>, names: impl IntoIterator<Item = String>) -> bool {
    let mut kept = listed_globals(module);
    kept.extend(noted_names(module));
    kept.extend(names);
    internalize(module, &Exposed::read(module, kept))
}

/// The device symbols of the globals that the module's `omp_offload.info` lists: the host program asks for
/// them. In a module that was merged of several, nodes may be there twice.
fn listed_globals(module: &Module<'_>) -> HashSet<String> {
    let nodes = nodes(module, OFFLOAD_INFO_METADATA).into_iter();
    nodes
        .filter_map(|node| match node.as_slice() {
            [
                Operand::Integer(OFFLOAD_INFO_DEVICE_GLOBAL),
                Operand::String(name),
                ..,
            ] => Some(name.clone()),
            _ => None,
        })
        .collect()
}

/// Notes in the merged device module the names of its symbols that entries of host objects ask for: Clang
/// lists most of them in the device module, but not those of `-foffload-via-llvm`, and other front ends may
/// not.
pub fn note_names(module: &Module<'_>, names: impl IntoIterator<Item = String>) {
    for name in names {
        if find(module, &name).is_some() {
            append_node(module, ASKED_FOR_METADATA, &[Operand::String(name)]);
        }
    }
}

fn noted_names(module: &Module<'_>) -> impl Iterator<Item = String> {
    let nodes = nodes(module, ASKED_FOR_METADATA).into_iter();
    nodes.filter_map(|node| match node.first() {
        Some(Operand::String(name)) => Some(name.clone()),
        _ => None,
    })
}

/// Whether others may come to the symbol by the section it stands in, without its name: from the section's
/// start to its end, as the start files, and the libraries of profiles, coverage and sanitizers do, and
/// programs by `__start_` and `__stop_`.
fn is_found_by_section(symbol: Symbol<'_>) -> bool {
    !symbol.is_declaration() && symbol.section().is_some()
}

/// Whether the symbol could be made internal at all.
fn is_candidate(symbol: Symbol<'_>) -> bool {
    symbol.is_definition()
        && !symbol.is_local()
        && symbol.linkage() != Linkage::Appending
        && !symbol.name().starts_with("llvm.")
}

/// What somebody outside of the module may ask for.
#[derive(Debug)]
pub struct Exposed<'ctx> {
    names: HashSet<String>,
    /// Addresses in entries.
    addresses: HashSet<Symbol<'ctx>>,
    /// Text that may name symbols.
    assembly: Assembly,
}

impl<'ctx> Exposed<'ctx> {
    /// What is exposed in any device module, and `names` besides.
    pub fn read(module: &Module<'ctx>, mut names: HashSet<String>) -> Self {
        names.extend(RUNTIME_SYMBOLS.iter().map(ToString::to_string));
        let entries = variables(module).into_iter().filter(|&symbol| is_entry(symbol));
        Self {
            names,
            addresses: entries.flat_map(Symbol::initializer_symbols).collect(),
            assembly: Assembly::of_module(module),
        }
    }

    fn contains(&self, symbol: Symbol<'ctx>) -> bool {
        let name = symbol.name();
        self.addresses.contains(&symbol)
            || self.names.contains(&name)
            || is_kernel(symbol, &name)
            || is_entry(symbol)
            || is_link_reference(&name)
            || RUNTIME_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || is_runtime_call(symbol)
            || self.assembly.may_name(&name)
    }
}

/// Whether it is a kernel, or a variable that the runtime looks up for one.
fn is_kernel(symbol: Symbol<'_>, name: &str) -> bool {
    if symbol.is_local() {
        return false;
    }
    let is_kernel_name = |name: &str| KernelName::parse(name).is_some();
    is_kernel_name(name)
        || symbol.as_function().is_some_and(has_kernel_calling_convention)
        || name
            .strip_suffix(KERNEL_ENVIRONMENT_SUFFIX)
            .is_some_and(is_kernel_name)
}

/// The module's comdats.
struct Groups {
    /// How many functions and variables are in each.
    sizes: HashMap<Comdat, usize>,
    /// Those with an exposed member: all of it stays, because the linker keeps or drops all of it.
    kept: HashSet<Comdat>,
}

impl Groups {
    fn read<'ctx>(all: &[Symbol<'ctx>], exposed: &Exposed<'ctx>) -> Self {
        let mut groups = Self {
            sizes: HashMap::new(),
            kept: HashSet::new(),
        };
        for &symbol in all {
            let Some(comdat) = symbol.comdat() else { continue };
            if matches!(symbol.kind(), SymbolKind::Function | SymbolKind::Variable) {
                *groups.sizes.entry(comdat).or_default() += 1;
            }
            if is_candidate(symbol) && exposed.contains(symbol) {
                groups.kept.insert(comdat);
            }
        }
        groups
    }

    fn is_kept(&self, symbol: Symbol<'_>) -> bool {
        symbol.comdat().is_some_and(|comdat| self.kept.contains(&comdat))
    }

    /// Prepares a symbol that becomes internal. One alone needs no comdat; several stay together, but no
    /// longer stand for those of another file.
    fn leave(&self, symbol: Symbol<'_>) {
        let Some(comdat) = symbol.comdat() else { return };
        if self.sizes.get(&comdat) == Some(&1) {
            symbol.leave_comdat();
        } else {
            comdat.keep_beside_others();
        }
    }
}
