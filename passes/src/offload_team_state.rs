//! `offload-team-state`: warns of functions for kernels of other files that use a device runtime of this
//! file's own, where they go wrong.
//!
//! Says: `functions.c:7: 'deep(double*, int)' uses the OpenMP runtime of its own file (__kmpc_alloc_shared),
//! ...: compile all files with -foffload-lto`
//!
//! Code for NVIDIA GPUs that is compiled without link-time optimisation has the device runtime linked into
//! each file and hidden there, and with it the state of a team, in shared memory, that a kernel initialises:
//! that of its own file. A function that another file's kernels call reads what nobody has written; the
//! optimiser sees that where the file has no kernel, and makes of the function an instruction that ends the
//! thread. The module stays as it is; `wrapgen` warns of what only a link knows.
//!
//! Only where it goes wrong: the function is exported, and no kernel of the module reaches it; what it calls
//! of the runtime is defined here and refers to that state; and it is optimised (without, it mostly works, by
//! chance). A local array of any size does: the optimiser would move a small one to the stack, and finds
//! before that nobody has written the state. `main` and inline functions, which each file has for itself, are
//! passed over.

use crate::error::PassError;
use crate::parameters::Parameters;
use crate::registry::{ExtensionPoint, Pass, Unasked};
use crate::target;
use llvm_plugin::PreservedAnalyses;
use llvm_plugin::diagnostics::{Severity, diagnose};
use offloom_abi::kernel_name::KernelName;
use offloom_abi::names::is_team_state;
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::attributes::{Attribute, AttributeLoc};
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::offload_symbol::has_kernel_calling_convention;
use offloom_ir::source_location::function_in_source;
use offloom_ir::symbol::{Symbol, SymbolKind, symbols};
use std::collections::{HashMap, HashSet};

pub(crate) const PASS: Pass = Pass {
    name: "offload-team-state",
    parameters: &[],
    run,
    unasked: Some(Unasked {
        at: ExtensionPoint::PipelineStart,
        concerns: |module| target::is_device(module) && target::is_nvptx(module),
    }),
};

/// Gives back what another function of the runtime has given.
const FREE: &str = "__kmpc_free_shared";

/// The memory of a team.
const SHARED: u16 = 3;

fn run(module: &Module<'_>, _: &Parameters) -> Result<PreservedAnalyses, PassError> {
    let references = References::read(module);
    let runtime_calls = references.runtime_functions_with_state();
    if runtime_calls.is_empty() {
        return Ok(PreservedAnalyses::All);
    }
    let functions = &references.functions;
    let kernels: Vec<_> = functions
        .iter()
        .copied()
        .filter(|&function| is_kernel(function))
        .collect();
    let reached_by_kernels = references.reached_from(kernels, |_| true);
    let mut wrong = functions.iter().filter_map(|&function| {
        let is_for_others = is_exported(function) && !is_kernel(function);
        if !is_for_others || reached_by_kernels.contains(&function) {
            return None;
        }
        let call = references.state_call(function, &runtime_calls)?;
        Some((function, call))
    });
    if let Some((function, call)) = wrong.next() {
        let others = wrong.count();
        diagnose(
            module,
            Severity::Warning,
            &message(module, function, &call, others),
        );
    }
    Ok(PreservedAnalyses::All)
}

fn message(module: &Module<'_>, function: Symbol<'_>, call: &str, others: usize) -> String {
    let file = || module.get_source_file_name().to_string_lossy().into_owned();
    let found = function.as_function().map(function_in_source);
    let (name, place) = match found {
        Some(found) => (
            found.name,
            found
                .place
                .map_or_else(file, |(file, line)| format!("{file}:{line}")),
        ),
        None => (function.name(), file()),
    };
    let others = match others {
        0 => String::new(),
        1 => " (as does another function)".to_owned(),
        count => format!(" (as do {count} other functions)"),
    };
    format!(
        "{place}: '{name}' uses the OpenMP runtime of its own file ({call}){others}, and no kernel of the file calls it: results will be wrong, \
         or the program will crash, where kernels of other files call it: compile all files with -foffload-lto"
    )
}

/// What each definition of a module refers to.
struct References<'ctx> {
    /// The functions that are defined, in the module's order.
    functions: Vec<Symbol<'ctx>>,
    of: HashMap<Symbol<'ctx>, Vec<Symbol<'ctx>>>,
}

impl<'ctx> References<'ctx> {
    fn read(module: &Module<'ctx>) -> Self {
        let mut defined = symbols(module);
        defined.retain(|global| !global.is_declaration());
        let of = defined
            .iter()
            .map(|&global| (global, global.references()))
            .collect();
        defined.retain(|global| global.kind() == SymbolKind::Function);
        Self {
            functions: defined,
            of,
        }
    }

    /// The functions of the runtime that come to the state of a team.
    fn runtime_functions_with_state(&self) -> HashSet<Symbol<'ctx>> {
        let mut runtime = self.functions.clone();
        runtime.retain(|&function| is_runtime(function) && function.name() != FREE);
        runtime.retain(|&function| {
            let reached = self.reached_from([function], |_| true);
            reached.into_iter().any(is_state)
        });
        runtime.into_iter().collect()
    }

    /// Everything that these come to, and they themselves; not through those that are not to be followed.
    fn reached_from(
        &self,
        from: impl IntoIterator<Item = Symbol<'ctx>>,
        follow: impl Fn(Symbol<'ctx>) -> bool,
    ) -> HashSet<Symbol<'ctx>> {
        let mut found: HashSet<_> = from.into_iter().collect();
        let mut open: Vec<_> = found.iter().copied().collect();
        while let Some(global) = open.pop() {
            for &other in self.of.get(&global).into_iter().flatten() {
                if found.insert(other) && follow(other) {
                    open.push(other);
                }
            }
        }
        found
    }

    /// The function of the runtime by which a function comes to the state, in its own code or in what only
    /// this file can call.
    fn state_call(&self, function: Symbol<'ctx>, runtime_calls: &HashSet<Symbol<'ctx>>) -> Option<String> {
        let own_code = |global: Symbol<'ctx>| !is_runtime(global) && !is_exported(global);
        let mut own: Vec<_> = self.reached_from([function], own_code).into_iter().collect();
        own.retain(|&global| global == function || own_code(global));
        own.sort_by_key(|global| (*global != function, global.name()));
        own.into_iter().find_map(|global| {
            let function = global.as_function()?;
            if function.count_basic_blocks() == 0 || is_unoptimized(function) {
                return None;
            }
            let mut called = self.of.get(&global)?.iter();
            let found = called.find(|called| runtime_calls.contains(called));
            found.map(|called| called.name())
        })
    }
}

/// Whether it is a variable that the runtime keeps the state of a team in.
fn is_state(global: Symbol<'_>) -> bool {
    global.kind() == SymbolKind::Variable && is_team_state(global.name().as_bytes()) && {
        let pointer = global.as_global_value().as_pointer_value().get_type();
        pointer.get_address_space() == AddressSpace::from(SHARED)
    }
}

/// Whether other files can call the function, and find no definition of their own.
fn is_exported(function: Symbol<'_>) -> bool {
    let linkage = function.as_global_value().get_linkage();
    matches!(linkage, Linkage::External | Linkage::WeakAny) && function.name() != "main"
}

fn is_kernel(function: Symbol<'_>) -> bool {
    KernelName::parse(&function.name()).is_some()
        || function.as_function().is_some_and(has_kernel_calling_convention)
}

/// Whether it is a function of the device runtime, of which the file has its own: Clang hides what it links
/// in.
fn is_runtime(global: Symbol<'_>) -> bool {
    let linkage = global.as_global_value().get_linkage();
    let is_its_name = |name: &str| ["__kmpc_", "omp_"].iter().any(|start| name.starts_with(start));
    global.kind() == SymbolKind::Function
        && !global.is_declaration()
        && linkage == Linkage::Internal
        && is_its_name(&global.name())
}

fn is_unoptimized(function: FunctionValue<'_>) -> bool {
    let kind = Attribute::get_named_enum_kind_id("optnone");
    function
        .get_enum_attribute(AttributeLoc::Function, kind)
        .is_some()
}
