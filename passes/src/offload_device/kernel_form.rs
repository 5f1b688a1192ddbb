//! What makes a function a kernel of its target: linkage, visibility, calling convention, attributes, as
//! Clang gives them.

use crate::error::PassError;
use crate::target;
use offloom_ir::LLVM;
use offloom_ir::inkwell::GlobalVisibility;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::metadata::{Operand, append_node, nodes};
use offloom_ir::symbol::Symbol;
use offloom_ir::target_kernel::LaunchLimits;
use std::collections::HashSet;
use std::num::NonZeroU16;

/// LLVM's attributes for limits of a launch; a front end may put them on a marked function.
const THREAD_LIMIT: &str = "omp_target_thread_limit";
const NUM_TEAMS: &str = "omp_target_num_teams";

/// The attribute by which OpenMP's optimisations know kernels.
const KERNEL: &str = "kernel";

/// Attributes of amdgcn.
const UNIFORM_WORK_GROUP: &str = "uniform-work-group-size";

/// Named metadata for NVPTX kernels up to LLVM 19.
const NVVM_ANNOTATIONS: &str = "nvvm.annotations";

/// The limits that the attributes of a marked function ask for.
pub(super) fn limits(function: FunctionValue<'_>) -> Result<LaunchLimits, PassError> {
    let symbol = Symbol::from(function);
    let limit = |attribute| {
        let Some(value) = symbol.string_attribute(attribute) else {
            return Ok(None);
        };
        match value.parse::<NonZeroU16>() {
            Ok(limit) => Ok(Some(limit.get())),
            Err(_) => Err(PassError::NotALimit {
                symbol: symbol.name(),
                attribute,
                value,
            }),
        }
    };
    Ok(LaunchLimits {
        threads: limit(THREAD_LIMIT)?,
        teams: limit(NUM_TEAMS)?,
    })
}

/// Whether an attribute of a marked function is for this pass rather than for the kernel.
pub(super) fn is_marker_or_limit(key: &str) -> bool {
    key.starts_with("offload-") || key == THREAD_LIMIT || key == NUM_TEAMS
}

/// Gives functions the form of kernels.
#[derive(Debug)]
pub(super) struct KernelForm<'a, 'ctx> {
    module: &'a Module<'ctx>,
    /// The functions that [`NVVM_ANNOTATIONS`] calls kernels.
    annotated: HashSet<Symbol<'ctx>>,
}

impl<'a, 'ctx> KernelForm<'a, 'ctx> {
    pub(super) fn new(module: &'a Module<'ctx>) -> Self {
        let annotated = nodes(module, NVVM_ANNOTATIONS)
            .into_iter()
            .filter_map(|node| match &node[..] {
                [Operand::Symbol(symbol), Operand::String(key), _] if key == KERNEL => Some(*symbol),
                _ => None,
            });
        Self {
            module,
            annotated: annotated.collect(),
        }
    }

    /// Gives a kernel what it lacks of that form. Returns whether that was anything.
    pub(super) fn give(&self, kernel: FunctionValue<'ctx>, limits: LaunchLimits) -> bool {
        let symbol = Symbol::from(kernel);
        let mut changed = false;
        if symbol.linkage() != Linkage::WeakODR {
            symbol.set_linkage(Linkage::WeakODR);
            changed = true;
        }
        if symbol.visibility() != GlobalVisibility::Protected {
            symbol.set_visibility(GlobalVisibility::Protected);
            changed = true;
        }
        changed | (target::is_gpu(self.module) && self.give_on_gpu(kernel, limits))
    }

    fn give_on_gpu(&self, kernel: FunctionValue<'ctx>, limits: LaunchLimits) -> bool {
        let symbol = Symbol::from(kernel);
        let mut changed = false;
        let mut give = |key: &str, value: &str| {
            if symbol.string_attribute(key).is_none() {
                symbol.set_string_attribute(key, value);
                changed = true;
            }
        };
        give(KERNEL, "");
        if let Some(teams) = limits.teams {
            give(NUM_TEAMS, &teams.to_string());
        }
        if target::is_amdgcn(self.module) {
            give(UNIFORM_WORK_GROUP, LLVM.uniform_work_groups);
        }
        if !LLVM.ptx_kernel_convention && !self.annotated.contains(&symbol) {
            let annotation = [
                Operand::Symbol(symbol),
                Operand::String(KERNEL.to_owned()),
                Operand::Integer(1),
            ];
            append_node(self.module, NVVM_ANNOTATIONS, &annotation);
            changed = true;
        }
        if let Some(convention) = target::kernel_calling_convention(self.module)
            && kernel.get_call_conventions() != convention
        {
            kernel.set_call_conventions(convention);
            changed = true;
        }
        changed
    }
}
