//! `offload-device`: makes the device half of what a host module offloads.
//!
//! Before: `define void @f(ptr %p, float %a) section ".offload.kernel"`, `@x = global i32 0` marked `link`
//!
//! After:
//! ```text
//! define weak_odr protected void @__omp_offloading_0_0_f_l0(ptr %dyn_ptr, ptr %p, i64 %a)   ; calls @f
//! define hidden void @f(ptr %p, float %a)
//! @x_decl_tgt_ref_ptr = weak global ptr null                                           ; uses of @x load this pointer
//! ```
//!
//! `host-ir=FILE` names the host module, as bitcode or text: exactly what its `omp_offload.info` lists is
//! exported, and it is an error if that is missing here or is something else. Without it the markers say what
//! to export. On GPUs kernels start in generic mode, with one thread, as those of a plain `#pragma omp
//! target` do. What Clang has made already stays as it is.
//!
//! A module without the flag `openmp-device` is taken for the whole source, compiled a second time: host
//! code, which is what no exported symbol and no function marked `function` needs, is removed, and the flag
//! is set. A module with the flag keeps all of its code. Then entries follow, as `offload-entries` makes
//! them, and before them, unless the module came with an `omp_offload.info`, visibility as
//! `offload-visibility` makes it.
//!
//! Unasked it runs at the start of every compile of a device module with an explicit marker.

mod host_module;
mod kernel;
mod kernel_form;
mod plan;

use crate::error::PassError;
use crate::host_address::link_reference;
use crate::markers::{self, Mark, Marked};
use crate::offload_device::host_module::{HostModule, with_host_module};
use crate::offload_device::kernel_form::KernelForm;
use crate::offload_device::plan::Plan;
use crate::parameters::Parameters;
use crate::registry::{ExtensionPoint, Pass, Unasked};
use crate::{offload_entries, offload_visibility, target};
use llvm_plugin::PreservedAnalyses;
use offloom_abi::kernel_name::{KernelName, is_vtable_constant, kernel_of_region_id};
use offloom_abi::names::{OFFLOAD_INFO_METADATA, OPENMP_DEVICE_MODULE_FLAG, OPENMP_MODULE_FLAG};
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::{AddressSpace, GlobalVisibility};
use offloom_ir::link_variable::{erase_unless_needed, load_address};
use offloom_ir::metadata::nodes;
use offloom_ir::module::{add_maximum_flag, integer_flag, pointer_size};
use offloom_ir::reachable::keep_reachable;
use offloom_ir::symbol::{Symbol, find_variable, symbols, variables};
use offloom_ir::target_kernel::LaunchLimits;

/// The host module's file.
const HOST_IR: &str = "host-ir";

/// The OpenMP version of modules that do not say theirs: what Clang 19 and 22 compile for by default.
const DEFAULT_OPENMP_VERSION: u32 = 51;

pub(crate) const PASS: Pass = Pass {
    name: "offload-device",
    parameters: &[HOST_IR],
    run,
    unasked: Some(Unasked {
        at: ExtensionPoint::PipelineStart,
        concerns: |module| {
            (target::is_device(module) || target::is_gpu(module)) && markers::any_explicit(module)
        },
    }),
};

fn run(module: &Module<'_>, parameters: &Parameters) -> Result<PreservedAnalyses, PassError> {
    match parameters.value(HOST_IR)? {
        Some(file) => with_host_module(file, |host| make_device_module(module, Some(host))),
        None => make_device_module(module, None),
    }
}

fn make_device_module(
    module: &Module<'_>,
    host: Option<&HostModule<'_>>,
) -> Result<PreservedAnalyses, PassError> {
    check_is_no_host_module(module)?;
    let is_listed = !nodes(module, OFFLOAD_INFO_METADATA).is_empty();
    if target::is_spirv(module) && !is_listed {
        return Err(PassError::Spirv);
    }
    let marked = markers::explicit(module)?;
    let plan = match host {
        Some(host) => Plan::by_host(module, &marked, host)?,
        None => Plan::by_markers(module, &marked),
    };
    let mut changed = !marked.is_empty();
    let mut exported = plan.functions.clone();
    exported.extend(make_kernels(module, &plan, &mut changed)?);
    for variable in &plan.variables {
        // On a GPU `hidden` can be the target's default rather than the source's choice.
        changed |= export_variable(*variable, host.is_some() || target::is_gpu(module));
        // Clang has other means to keep one that device code has no use of.
        changed |= !is_listed && variable.pin();
        exported.push(*variable);
    }
    for (name, symbol) in &plan.indirect {
        exported.push(define_indirect(module, name, *symbol, &mut changed)?);
    }
    exported.extend(own_indirect_constants(module));
    clear_markers(module, &marked, &plan);
    for variable in &plan.links {
        exported.push(reach_through_pointer(module, variable, &mut changed)?);
    }
    if !target::is_device(module) {
        keep_reachable(module, &exported);
        hide_functions(module);
        set_flags(module, host);
        changed = true;
    }
    // By now what only host code had the variable's address for is gone.
    erase_links(module, &plan)?;
    if let Some(host) = host
        && !is_listed
    {
        host.copy_info(module);
        changed = true;
    }
    let parameters = Parameters::default();
    // Who made the list, as Clang does, has decided on visibility too.
    if !is_listed {
        changed |= !matches!(
            offload_visibility::run(module, &parameters)?,
            PreservedAnalyses::All
        );
    }
    changed |= !matches!(offload_entries::run(module, &parameters)?, PreservedAnalyses::All);
    Ok(if changed {
        PreservedAnalyses::None
    } else {
        PreservedAnalyses::All
    })
}

/// A host module would lose its host code.
fn check_is_no_host_module(module: &Module<'_>) -> Result<(), PassError> {
    let region_id = variables(module).into_iter().find(|symbol| {
        let name = symbol.name();
        let kernel = kernel_of_region_id(&name);
        symbol.is_definition() && kernel.is_some_and(|kernel| KernelName::parse(kernel).is_some())
    });
    match region_id {
        Some(symbol) if !target::is_device(module) => Err(PassError::NotADeviceModule {
            symbol: symbol.name(),
        }),
        _ => Ok(()),
    }
}

/// Makes the kernels and returns them.
fn make_kernels<'ctx>(
    module: &Module<'ctx>,
    plan: &Plan<'ctx>,
    changed: &mut bool,
) -> Result<Vec<Symbol<'ctx>>, PassError> {
    let form = KernelForm::new(module);
    let mut kernels = Vec::new();
    for (name, function) in &plan.kernels {
        let symbol = Symbol::from(*function);
        if symbol.name() == *name {
            kernel::check_final_form(module, *function)?;
            *changed |= form.give(*function, LaunchLimits::default());
            kernels.push(symbol);
            continue;
        }
        if module.get_function(name).is_some() {
            return Err(PassError::NameTaken {
                symbol: name.clone(),
                expected: "kernel",
            });
        }
        kernels.push(kernel::wrap(module, &form, name, *function)?.into());
        // As Clang leaves functions that the host does not call: for the device code of other files.
        symbol.set_visibility(GlobalVisibility::Hidden);
        *changed = true;
    }
    Ok(kernels)
}

/// Lets the runtime find a variable, even a hidden one if `even_hidden`.
fn export_variable(variable: Symbol<'_>, even_hidden: bool) -> bool {
    markers::mark(variable, Mark::Variable);
    let is_hidden = variable.visibility() == GlobalVisibility::Hidden;
    let must_change = variable.visibility() == GlobalVisibility::Default || (is_hidden && even_hidden);
    if !must_change || variable.is_local() {
        return false;
    }
    variable.set_visibility(GlobalVisibility::Protected);
    true
}

/// `@<name> = protected constant ptr @<symbol>`
fn define_indirect<'ctx>(
    module: &Module<'ctx>,
    name: &str,
    symbol: Symbol<'ctx>,
    changed: &mut bool,
) -> Result<Symbol<'ctx>, PassError> {
    if let Some(existing) = find_variable(module, name) {
        return Ok(existing);
    }
    if module.get_function(name).is_some() {
        return Err(PassError::NameTaken {
            symbol: name.to_owned(),
            expected: "constant with the address of an `indirect` function or table",
        });
    }
    let pointer_type = module.get_context().ptr_type(AddressSpace::default());
    let space = if target::is_amdgcn(module) {
        Some(AddressSpace::from(1))
    } else {
        None
    };
    let constant = module.add_global(pointer_type, space, name);
    constant.set_initializer(&symbol.as_generic_pointer());
    constant.set_constant(true);
    constant.set_alignment(pointer_size(module));
    let constant = Symbol::from(constant);
    constant.set_visibility(GlobalVisibility::Protected);
    let is_function = symbol.as_function().is_some();
    if is_function && !symbol.is_local() && symbol.visibility() == GlobalVisibility::Default {
        symbol.set_visibility(GlobalVisibility::Hidden);
    }
    *changed = true;
    Ok(constant)
}

/// The constants of `indirect` functions and tables that the front end has made, which are known by their
/// names.
fn own_indirect_constants<'ctx>(module: &Module<'ctx>) -> impl Iterator<Item = Symbol<'ctx>> {
    let is_constant = |name: &str| KernelName::parse(name).is_some() || is_vtable_constant(name);
    variables(module)
        .into_iter()
        .filter(move |symbol| symbol.is_definition() && is_constant(&symbol.name()))
}

/// Takes the markers away that this pass has acted on; those of variables, constructors and destructors are
/// for `offload-entries`.
fn clear_markers<'ctx>(module: &Module<'ctx>, marked: &Marked<'ctx>, plan: &Plan<'ctx>) {
    for &symbol in marked.keys() {
        markers::clear(symbol);
    }
    for &variable in &plan.variables {
        markers::clear(variable);
        markers::mark(variable, Mark::Variable);
    }
    for (name, function) in &plan.kernels {
        let mark = marked.get(&Symbol::from(*function));
        if let Some(&mark @ (Mark::Constructor | Mark::Destructor)) = mark
            && let Some(kernel) = module.get_function(name)
        {
            markers::mark(kernel.into(), mark);
        }
    }
}

/// `@<variable>_decl_tgt_ref_ptr = weak global ptr null`, which the runtime fills in: what code uses in the
/// variable's place.
fn reach_through_pointer<'ctx>(
    module: &Module<'ctx>,
    variable: &str,
    changed: &mut bool,
) -> Result<Symbol<'ctx>, PassError> {
    // Host code that maps the variable declares the pointer. It is in address space 0 on every target, as
    // Clang's.
    let global = link_reference(module, variable)?;
    let reference = Symbol::from(global);
    if !reference.is_definition() {
        global.set_initializer(
            &module
                .get_context()
                .ptr_type(AddressSpace::default())
                .const_null(),
        );
        reference.set_linkage(Linkage::WeakAny);
        global.set_alignment(pointer_size(module));
        *changed = true;
    }
    if let Some(symbol) = find_variable(module, variable) {
        if symbol.visibility() == GlobalVisibility::Hidden {
            // Each shared library has one, and libomptarget loads images so that they see each other's
            // symbols. It has to find this one by name.
            reference.set_visibility(GlobalVisibility::Protected);
        }
        load_address(symbol, reference);
        *changed = true;
    }
    // For `offload-entries`, which the name alone does not tell that the host has an entry for it.
    markers::mark(reference, Mark::Link);
    Ok(reference)
}

/// Takes away what is reached through a pointer, which code does not use any more.
fn erase_links(module: &Module<'_>, plan: &Plan<'_>) -> Result<(), PassError> {
    for name in &plan.links {
        if let Some(variable) = find_variable(module, name) {
            erase_unless_needed(variable).map_err(|user| PassError::LinkAddressNeeded {
                symbol: name.clone(),
                user: user.name(),
            })?;
        }
    }
    Ok(())
}

/// Leaves functions that the host does not call, and other names of them, as Clang leaves them: hidden, for
/// the device code of other files.
fn hide_functions(module: &Module<'_>) {
    let all = symbols(module).into_iter();
    for symbol in all.filter(|symbol| symbol.names_code()) {
        // Kernels are protected by now.
        let is_default = symbol.visibility() == GlobalVisibility::Default;
        if is_default && symbol.is_definition() && !symbol.is_local() {
            symbol.set_visibility(GlobalVisibility::Hidden);
        }
    }
}

/// The flags by which other passes know a device module.
fn set_flags(module: &Module<'_>, host: Option<&HostModule<'_>>) {
    let own = integer_flag(module, OPENMP_MODULE_FLAG);
    let version = own
        .or_else(|| host?.openmp_version())
        .unwrap_or(DEFAULT_OPENMP_VERSION);
    if own.is_none() {
        add_maximum_flag(module, OPENMP_MODULE_FLAG, version);
    }
    add_maximum_flag(module, OPENMP_DEVICE_MODULE_FLAG, version);
}
