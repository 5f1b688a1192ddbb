//! The host module that a device module belongs to: what it offloads, and how large that is there.

use crate::entry_record;
use crate::error::PassError;
use crate::markers;
use crate::offload_info::{OffloadInfo, Subject};
use offloom_abi::names::{OFFLOAD_INFO_METADATA, OPENMP_DEVICE_MODULE_FLAG, OPENMP_MODULE_FLAG};
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::types::BasicTypeEnum;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::metadata::{Operand, append_node, nodes};
use offloom_ir::module::integer_flag;
use offloom_ir::read_module::read_module;
use offloom_ir::symbol::{Symbol, find_variable};
use std::collections::HashSet;
use std::path::Path;

/// The module, in a context of its own: its types do not mix with the device module's.
pub(super) struct HostModule<'ctx> {
    /// As the user wrote it.
    pub(super) file: String,
    module: Module<'ctx>,
    /// The names of its entries.
    entries: HashSet<String>,
}

/// Runs `work` on the host module in `file`.
pub(super) fn with_host_module<T>(
    file: &str,
    work: impl FnOnce(&HostModule<'_>) -> Result<T, PassError>,
) -> Result<T, PassError> {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let module = read_module(&context, &errors, Path::new(file)).map_err(|source| PassError::HostModule {
        file: file.to_owned(),
        problem: source.to_string(),
    })?;
    let entries = entry_record::existing_names(&module).map_err(|source| PassError::HostModule {
        file: file.to_owned(),
        problem: source.to_string(),
    })?;
    let host = HostModule {
        file: file.to_owned(),
        module,
        entries,
    };
    host.check()?;
    work(&host)
}

impl<'ctx> HostModule<'ctx> {
    /// Whether it is what it should be.
    fn check(&self) -> Result<(), PassError> {
        if self.module.get_flag(OPENMP_DEVICE_MODULE_FLAG).is_some() {
            return Err(self.problem("is a device module".to_owned()));
        }
        // Without marks and without a list it offloads nothing.
        if nodes(&self.module, OFFLOAD_INFO_METADATA).is_empty() && markers::any_explicit(&self.module) {
            return Err(self.problem(
                "has marks but no `!omp_offload.info`: run `offload-entries` on it first".to_owned(),
            ));
        }
        Ok(())
    }

    fn problem(&self, problem: String) -> PassError {
        PassError::HostModule {
            file: self.file.clone(),
            problem,
        }
    }

    /// What it lists, in the order of its entries.
    pub(super) fn subjects(&self) -> Result<Vec<Subject>, PassError> {
        OffloadInfo::subjects(&self.module).map_err(|error| self.problem(format!("is malformed: {error}")))
    }

    /// Whether the runtime will look the name up in the device image.
    pub(super) fn has_entry(&self, name: &str) -> bool {
        self.entries.contains(name)
    }

    /// The variable of this name.
    pub(super) fn variable(&self, name: &str) -> Option<Symbol<'ctx>> {
        find_variable(&self.module, name)
    }

    /// Bytes that the variable takes on the host.
    pub(super) fn size(&self, variable: Symbol<'ctx>) -> u64 {
        variable.value_size(&self.module)
    }

    /// The OpenMP version it was compiled for, as 51 for 5.1.
    pub(super) fn openmp_version(&self) -> Option<u32> {
        integer_flag(&self.module, OPENMP_MODULE_FLAG)
    }

    /// Copies the list to the device module, as Clang does, so that both have the same order numbers.
    pub(super) fn copy_info(&self, device: &Module<'_>) {
        for node in nodes(&self.module, OFFLOAD_INFO_METADATA) {
            // Integers and strings: the list has been read.
            let plain: Vec<Operand<'_>> = node
                .into_iter()
                .filter_map(|operand| match operand {
                    Operand::Integer(value) => Some(Operand::Integer(value)),
                    Operand::String(text) => Some(Operand::String(text)),
                    Operand::Symbol(_) | Operand::Other => None,
                })
                .collect();
            append_node(device, OFFLOAD_INFO_METADATA, &plain);
        }
    }
}

/// Whether two variables hold the same data: types alike but for the names of structures and for address
/// spaces.
pub(super) fn same_type(host: Symbol<'_>, device: Symbol<'_>) -> bool {
    match (host.variable_type(), device.variable_type()) {
        (Some(host), Some(device)) => alike(host, device),
        _ => false,
    }
}

fn alike(host: BasicTypeEnum<'_>, device: BasicTypeEnum<'_>) -> bool {
    use BasicTypeEnum::{ArrayType, FloatType, IntType, PointerType, StructType, VectorType};
    match (host, device) {
        (IntType(host), IntType(device)) => host.get_bit_width() == device.get_bit_width(),
        (FloatType(host), FloatType(device)) => host.print_to_string() == device.print_to_string(),
        (PointerType(_), PointerType(_)) => true,
        (ArrayType(host), ArrayType(device)) => {
            host.len() == device.len() && alike(host.get_element_type(), device.get_element_type())
        }
        (VectorType(host), VectorType(device)) => {
            host.get_size() == device.get_size() && alike(host.get_element_type(), device.get_element_type())
        }
        (StructType(host), StructType(device)) => {
            host.is_packed() == device.is_packed()
                && host.count_fields() == device.count_fields()
                && host
                    .get_field_types_iter()
                    .zip(device.get_field_types_iter())
                    .all(|(host, device)| alike(host, device))
        }
        _ => false,
    }
}
