//! Why a GPU kernel cannot have variants.
//!
//! An address of code means something in one module only: a call through a pointer into another one ends the
//! context. So a kernel with variants neither calls through pointers that may come from elsewhere nor lets
//! addresses of functions out. Within a launch, all that the device runtime is handed stays in the variant,
//! which has a runtime of its own.

use std::collections::HashSet;

use offloom_ir::gpu::{calls_through_pointer, is_address_observed};
use offloom_ir::inkwell::module::Module;
use offloom_ir::symbol::{AddressUse, Symbol, SymbolKind};

use super::{CONSTANT_MEMORY, GLOBAL_MEMORY, SHARED_MEMORY, address_space};
use crate::survey::{Obstacle, is_table};

/// Functions that the driver gives every module.
const OF_DRIVER: [&str; 4] = ["__assertfail", "free", "malloc", "vprintf"];

/// How the names of the device runtime's functions start that are handed functions.
const RUNTIME_PREFIX: &str = "__kmpc_";

/// What the link has besides the bitcode that is surveyed.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// Names of the functions that the device runtime defines; none: the link has no device runtime as
    /// bitcode.
    pub runtime_functions: HashSet<String>,
    /// Whether the image has no other code than the bitcode: no definition of it is replaced by another.
    pub is_all_bitcode: bool,
}

impl Surroundings {
    /// Of a link with this device runtime, if it has one, and whether the image has no other code than the
    /// bitcode.
    pub fn of(device_runtime: Option<&Module<'_>>, is_all_bitcode: bool) -> Self {
        let functions = device_runtime.into_iter().flat_map(Module::get_functions);
        let defined = functions.filter(|function| function.count_basic_blocks() > 0);
        Self {
            runtime_functions: defined
                .map(|function| function.get_name().to_string_lossy().into_owned())
                .collect(),
            is_all_bitcode,
        }
    }

    /// Why no kernel that reaches this, or is it, can have variants.
    pub(crate) fn obstacle(&self, global: Symbol<'_>) -> Option<Obstacle> {
        match global.kind() {
            SymbolKind::Variable => self.of_variable(global),
            SymbolKind::Function => self.of_function(global),
            SymbolKind::Alias => {
                let is_replaceable = global.is_interposable() && !self.is_all_bitcode;
                is_replaceable.then(|| Obstacle::Replaceable(global.name()))
            }
            SymbolKind::IFunc => Some(Obstacle::IndirectFunction(global.name())),
        }
    }

    fn of_variable(&self, variable: Symbol<'_>) -> Option<Obstacle> {
        let is_known = match address_space(variable) {
            0 | GLOBAL_MEMORY => true,
            SHARED_MEMORY => !variable.is_declaration(),
            CONSTANT_MEMORY => {
                variable.is_constant() && !variable.is_declaration() && !is_address_observed(variable)
            }
            _ => false,
        };
        (!is_known).then(|| Obstacle::AddressSpace(variable.name()))
    }

    fn of_function(&self, function: Symbol<'_>) -> Option<Obstacle> {
        let name = function.name();
        if function.is_intrinsic() {
            return None;
        }
        if function.is_declaration() {
            let is_there = self.runtime_functions.contains(&name) || OF_DRIVER.contains(&name.as_str());
            return match is_there {
                true => None,
                false if self.runtime_functions.is_empty() && name.starts_with(RUNTIME_PREFIX) => {
                    Some(Obstacle::NoDeviceRuntime)
                }
                false => Some(Obstacle::OutsideBitcode(name)),
            };
        }
        if function.is_interposable() && !self.is_all_bitcode {
            return Some(Obstacle::Replaceable(name));
        }
        if function.as_function().is_some_and(calls_through_pointer) {
            return Some(Obstacle::CallsThroughPointer(name));
        }
        let leaves = |address_use| match address_use {
            AddressUse::Callee | AddressUse::Comparison | AddressUse::FunctionData => false,
            AddressUse::Argument { callee } => {
                !(callee.is_declaration() && callee.name().starts_with(RUNTIME_PREFIX))
            }
            AddressUse::Initializer { of } => !is_table(of) && of.kind() != SymbolKind::Alias,
            AddressUse::Other => true,
        };
        function
            .address_uses()
            .into_iter()
            .any(leaves)
            .then_some(Obstacle::FunctionAddress(name))
    }
}
