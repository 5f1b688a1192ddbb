//! `offload-internalize`: on the merged module of a device image, hides what nobody outside can ask for.
//!
//! Before: `define hidden void @helper()`        After: `define internal void @helper()`
//!
//! The optimiser may then drop, inline and specialise it. Kept as they are: kernels, the variables that `omp_offload.info` or an
//! entry names, the entries, what the runtime looks up by name ([`RUNTIME_SYMBOLS`]), what code generation may call by itself, what
//! the module's assembly mentions, what the parameters `keep=a,b` (or `keep=a;keep=b`) and `keep-file=FILE` name, and every other
//! member of a comdat with one of these. The file has names between white space, as LLVM's `-internalize-public-api-file` has.
//! `@llvm.used` and `@llvm.compiler.used` lose all other symbols; an empty list goes.
//!
//! Only for modules that nothing will be linked to any more: never at compile time. Unasked it runs when full LTO starts on a
//! device module.

use crate::entry_record;
use crate::error::PassError;
use crate::markers::is_link_reference;
use crate::offload_info::OffloadInfo;
use crate::parameters::Parameters;
use crate::registry::{ExtensionPoint, Pass, Unasked};
use crate::target;
use llvm_plugin::PreservedAnalyses;
use offloom_abi::kernel_name::KernelName;
use offloom_ir::inkwell::GlobalVisibility;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::module::inline_assembly;
use offloom_ir::symbol::{Comdat, Symbol, SymbolKind, symbols, variables};
use offloom_ir::used::{UsedList, set_used, used};
use std::collections::{HashMap, HashSet};
use std::fs;

pub(crate) const PASS: Pass = Pass {
    name: "offload-internalize",
    parameters: &[KEEP, KEEP_FILE],
    run,
    unasked: Some(Unasked {
        at: ExtensionPoint::FullLtoEarly,
        concerns: target::is_device,
    }),
};

/// Symbols to keep besides.
const KEEP: &str = "keep";

/// A file with symbols to keep besides.
const KEEP_FILE: &str = "keep-file";

/// What libomptarget's plugins look up in a device image, beside kernels and variables with entries: the memory pools and
/// `__llvm_libc_rpc_client` in LLVM 19, `__llvm_rpc_client` in LLVM 22, the others in both. Source:
/// `offload/plugins-nextgen`, and the strings in both `libomptarget`s. The constants `__omp_rtl_debug_kind` and
/// `__omp_rtl_assume_*` are not among them: device code alone reads those.
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

/// How the names start of what the plugins find by going through an image's symbols: constructors and destructors of NVPTX code,
/// and profiles with what their library needs.
const RUNTIME_PREFIXES: &[&str] = &[
    "__fini_array_object_",
    "__init_array_object_",
    "__llvm_prf_",
    "__llvm_profile_",
    "__profc_",
    "__profd_",
];

/// What the plugins look up for each kernel: its name with this behind it.
const KERNEL_ENVIRONMENT_SUFFIX: &str = "_kernel_environment";

/// What code generation calls without a call in the IR.
const CODE_GENERATION_SYMBOLS: &[&str] = &[
    "__ssp_canary_word",
    "__stack_chk_fail",
    "__stack_chk_guard",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
];

fn run(module: &Module<'_>, parameters: &Parameters) -> Result<PreservedAnalyses, PassError> {
    let exposed = Exposed::read(module, parameters)?;
    let mut preserved = PreservedAnalyses::All;
    for list in UsedList::BOTH {
        let listed = used(module, list);
        let kept: Vec<_> = listed
            .iter()
            .copied()
            .filter(|&symbol| exposed.contains(symbol))
            .collect();
        if kept.len() < listed.len() {
            set_used(module, list, &kept);
            preserved = PreservedAnalyses::None;
        }
    }
    let all = symbols(module);
    let groups = Groups::read(&all, &exposed);
    for symbol in all {
        if is_candidate(symbol) && !exposed.contains(symbol) && !groups.is_kept(symbol) {
            groups.leave(symbol);
            symbol.set_visibility(GlobalVisibility::Default);
            symbol.set_linkage(Linkage::Internal);
            preserved = PreservedAnalyses::None;
        }
    }
    Ok(preserved)
}

/// Whether the symbol could be made internal at all.
fn is_candidate(symbol: Symbol<'_>) -> bool {
    symbol.is_definition()
        && !symbol.is_local()
        && symbol.linkage() != Linkage::Appending
        && !symbol.name().starts_with("llvm.")
}

/// What somebody outside of the module may ask for.
struct Exposed<'ctx> {
    names: HashSet<String>,
    /// Addresses in entries.
    addresses: HashSet<Symbol<'ctx>>,
    /// Text that may name symbols.
    assembly: Assembly,
}

impl<'ctx> Exposed<'ctx> {
    fn read(module: &Module<'ctx>, parameters: &Parameters) -> Result<Self, PassError> {
        let info = OffloadInfo::read(module)?;
        let mut names: HashSet<String> = info.global_names().map(str::to_owned).collect();
        names.extend(parameters.list(KEEP)?.into_iter().map(str::to_owned));
        if let Some(file) = parameters.value(KEEP_FILE)? {
            names.extend(names_in(file)?);
        }
        names.extend(
            RUNTIME_SYMBOLS
                .iter()
                .chain(CODE_GENERATION_SYMBOLS)
                .map(ToString::to_string),
        );
        let entries = variables(module)
            .into_iter()
            .filter(|&symbol| entry_record::is_entry(symbol));
        Ok(Self {
            names,
            addresses: entries.flat_map(Symbol::initializer_symbols).collect(),
            assembly: Assembly::read(inline_assembly(module)),
        })
    }

    fn contains(&self, symbol: Symbol<'ctx>) -> bool {
        let name = symbol.name();
        self.addresses.contains(&symbol)
            || self.names.contains(&name)
            || is_kernel(symbol, &name)
            || entry_record::is_entry(symbol)
            || is_link_reference(&name)
            || RUNTIME_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || self.assembly.may_name(&name)
    }
}

/// The names in a file of names.
fn names_in(file: &str) -> Result<Vec<String>, PassError> {
    let text = fs::read_to_string(file).map_err(|problem| PassError::KeepFile {
        file: file.to_owned(),
        problem,
    })?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// The assembly text of a module.
struct Assembly {
    text: String,
    /// What can be a name without quotation marks.
    words: HashSet<String>,
}

impl Assembly {
    fn read(text: String) -> Self {
        let words = text.split(|character| !is_in_word(character));
        Self {
            words: words.map(str::to_owned).collect(),
            text,
        }
    }

    /// Whether the text may name the symbol.
    fn may_name(&self, symbol: &str) -> bool {
        self.words.contains(symbol) || (!symbol.chars().all(is_in_word) && self.text.contains(symbol))
    }
}

fn is_in_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '$')
}

/// Whether it is a kernel, or a variable that the runtime looks up for one.
fn is_kernel(symbol: Symbol<'_>, name: &str) -> bool {
    if symbol.is_local() {
        return false;
    }
    let is_kernel_name = |name: &str| KernelName::parse(name).is_some();
    is_kernel_name(name)
        || symbol
            .as_function()
            .is_some_and(target::has_kernel_calling_convention)
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

    /// Prepares a symbol that becomes internal. One alone needs no comdat; several stay together, but no longer stand for those of
    /// another file.
    fn leave(&self, symbol: Symbol<'_>) {
        let Some(comdat) = symbol.comdat() else { return };
        if self.sizes.get(&comdat) == Some(&1) {
            symbol.leave_comdat();
        } else {
            comdat.keep_beside_others();
        }
    }
}
