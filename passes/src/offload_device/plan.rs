//! What a device module must export: by the host module's list, or by its own markers.

use crate::error::PassError;
use crate::markers::{self, Mark, Marked, kernel_of_function};
use crate::offload_device::host_module::{HostModule, same_type};
use crate::offload_info::Subject;
use offloom_abi::entry::EntryFlags;
use offloom_abi::kernel_name::{KernelName, VTABLE_SUFFIX, is_vtable_constant};
use offloom_abi::names::{LINK_REFERENCE_SUFFIX, is_link_reference};
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::symbol::{Symbol, find_variable, functions, variables};

/// What must be made of which symbol.
#[derive(Debug, Default)]
pub(super) struct Plan<'ctx> {
    /// Kernels by name: the function of that name, or the one that the kernel is to call.
    pub(super) kernels: Vec<(String, FunctionValue<'ctx>)>,
    /// Variables with a copy on the device.
    pub(super) variables: Vec<Symbol<'ctx>>,
    /// Names of variables that are reached through a pointer. The module need not have them.
    pub(super) links: Vec<String>,
    /// What `indirect` constants hold the address of, by the constant's name.
    pub(super) indirect: Vec<(String, Symbol<'ctx>)>,
    /// Functions that device code of other files calls.
    pub(super) functions: Vec<Symbol<'ctx>>,
}

impl<'ctx> Plan<'ctx> {
    /// By the markers and names of the device module alone.
    pub(super) fn by_markers(module: &Module<'ctx>, marked: &Marked<'ctx>) -> Self {
        let mut plan = Self::default();
        for symbol in variables(module) {
            let name = symbol.name();
            match marked.get(&symbol) {
                Some(Mark::Link) if !is_link_reference(&name) => plan.links.push(name),
                Some(Mark::IndirectVtable) if symbol.is_definition() => {
                    plan.indirect.push((markers::indirect_name(symbol), symbol));
                }
                Some(Mark::Variable) if symbol.is_definition() => plan.variables.push(symbol),
                _ => {}
            }
        }
        for symbol in definitions(module) {
            let Some(function) = symbol.as_function() else {
                continue;
            };
            let name = symbol.name();
            match marked.get(&symbol) {
                Some(Mark::Indirect) => plan.indirect.push((markers::indirect_name(symbol), symbol)),
                Some(Mark::Function) => plan.functions.push(symbol),
                _ if KernelName::parse(&name).is_some() && !symbol.is_local() => {
                    plan.kernels.push((name, function));
                }
                Some(Mark::Kernel | Mark::Constructor | Mark::Destructor) => {
                    plan.kernels.push((kernel_of_function(&name), function));
                }
                _ => {}
            }
        }
        plan
    }

    /// By the host module's list. Whatever else is marked is not exported.
    pub(super) fn by_host(
        module: &Module<'ctx>,
        marked: &Marked<'ctx>,
        host: &HostModule<'_>,
    ) -> Result<Self, PassError> {
        let mut plan = Self::default();
        let own = Self::by_markers(module, marked);
        for subject in host.subjects()? {
            match subject {
                Subject::Kernel(name) => {
                    let function = kernel_function(module, &name)
                        .ok_or_else(|| unlike(host, &name, missing_kernel(&name)))?;
                    plan.kernels.push((name, function));
                }
                Subject::Global { name, flags } => {
                    plan.add_global(module, &own, host, name, EntryFlags(flags))?;
                }
            }
        }
        plan.functions = own.functions;
        Ok(plan)
    }

    fn add_global(
        &mut self,
        module: &Module<'ctx>,
        own: &Self,
        host: &HostModule<'_>,
        name: String,
        flags: EntryFlags,
    ) -> Result<(), PassError> {
        if let Some(variable) = name.strip_suffix(LINK_REFERENCE_SUFFIX) {
            if flags == EntryFlags::LINK {
                self.links.push(variable.to_owned());
            }
            return Ok(());
        }
        if matches!(flags, EntryFlags::INDIRECT | EntryFlags::INDIRECT_VTABLE) {
            if find_variable(module, &name).is_some_and(Symbol::is_definition) {
                return Ok(());
            }
            let marked = own
                .indirect
                .iter()
                .find(|(own, _)| *own == name)
                .map(|(_, symbol)| *symbol);
            match marked.or_else(|| indirect_symbol(module, &name)) {
                Some(symbol) => self.indirect.push((name, symbol)),
                None if host.has_entry(&name) => {
                    return Err(unlike(host, &name, "is missing here".to_owned()));
                }
                None => {}
            }
            return Ok(());
        }
        let found = find_variable(module, &name).filter(|symbol| symbol.is_definition());
        match found {
            Some(device) => {
                check_variable(module, host, device, &name)?;
                self.variables.push(device);
            }
            None if host.has_entry(&name) => {
                let problem = if module.get_function(&name).is_some() {
                    "is a variable there and a function here"
                } else {
                    "is not defined here"
                };
                return Err(unlike(host, &name, problem.to_owned()));
            }
            // The runtime will not look for it.
            None => {}
        }
        Ok(())
    }
}

/// The function for a listed kernel: of that name, or the ordinary function that it was listed for.
fn kernel_function<'ctx>(module: &Module<'ctx>, name: &str) -> Option<FunctionValue<'ctx>> {
    let defined = |name: &str| {
        let function = module.get_function(name)?;
        Symbol::from(function).is_definition().then_some(function)
    };
    defined(name).or_else(|| defined(function_of_kernel(name)?))
}

/// The function or table for a listed `indirect` constant that nobody marks here.
fn indirect_symbol<'ctx>(module: &Module<'ctx>, name: &str) -> Option<Symbol<'ctx>> {
    let Some(name) = name
        .strip_suffix(VTABLE_SUFFIX)
        .filter(|_| is_vtable_constant(name))
    else {
        return kernel_function(module, name).map(Symbol::from);
    };
    find_variable(module, function_of_kernel(name)?).filter(|symbol| symbol.is_definition())
}

/// The function that a kernel of the launch contract calls.
fn function_of_kernel(kernel: &str) -> Option<&str> {
    let parent = KernelName::parse(kernel)?.parent;
    (kernel_of_function(parent) == kernel).then_some(parent)
}

fn missing_kernel(kernel: &str) -> String {
    match function_of_kernel(kernel) {
        Some(function) => format!("is missing here, and so is the function `{function}`"),
        None => "is missing here".to_owned(),
    }
}

fn check_variable<'ctx>(
    module: &Module<'ctx>,
    host: &HostModule<'_>,
    device: Symbol<'ctx>,
    name: &str,
) -> Result<(), PassError> {
    let Some(there) = host.variable(name) else {
        return Ok(());
    };
    let (host_size, device_size) = (host.size(there), device.value_size(module));
    if host_size != device_size {
        return Err(unlike(
            host,
            name,
            format!("has the size {host_size} there and {device_size} here, in bytes"),
        ));
    }
    if !same_type(there, device) {
        let text = |symbol: Symbol<'_>| {
            let value_type = symbol.variable_type();
            value_type.map_or_else(String::new, |value_type| value_type.print_to_string().to_string())
        };
        let (host_type, device_type) = (text(there), text(device));
        return Err(unlike(
            host,
            name,
            format!("has the type `{host_type}` there and `{device_type}` here"),
        ));
    }
    Ok(())
}

fn unlike(host: &HostModule<'_>, symbol: &str, problem: String) -> PassError {
    PassError::UnlikeHost {
        symbol: symbol.to_owned(),
        host: host.file.clone(),
        problem,
    }
}

fn definitions<'ctx>(module: &Module<'ctx>) -> impl Iterator<Item = Symbol<'ctx>> {
    functions(module)
        .into_iter()
        .filter(|symbol| symbol.is_definition())
}
