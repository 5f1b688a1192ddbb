//! Constant bytes of objects, noted with the kernel before a pipeline runs that drops what proves them.
//!
//! LLVM drops the type of a load (TBAA) when it moves the load to where it is not always executed, as out of
//! a loop. What is proven before stays true, but a later load is not one of those that were looked at. So
//! bytes are noted, and only of an object with whose address the kernel does nothing but load from it, here
//! and in the functions that always get it: no pass can make a load of these bytes through this pointer from
//! anything but loads that were proven. Executed where none of those is, it may find other bytes, which
//! nobody then looks at. A byte that some load finds changed, or that is part of an address, is not noted.

use std::collections::HashSet;

use offloom_abi::jit_bundle::MAX_CONTENTS;
use offloom_ir::call_sites::{Receivers, receivers};
use offloom_ir::inkwell::attributes::AttributeLoc;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::{BasicValueEnum, FunctionValue};
use offloom_ir::module;
use offloom_ir::pointer_uses::{PointerUse, PointerUseKind, pointer_uses};
use offloom_ir::symbol::{Symbol, find, symbols};

use super::{KernelMemory, PointerSources, expose_loads};
use crate::survey::is_kernel;

/// String attribute of a kernel's pointer parameter: a character for each byte of the object from its start,
/// [`CONSTANT`] for those that hold what they held at launch wherever the kernel loads them.
const ATTRIBUTE: &str = "offloom-constant-bytes";
const CONSTANT: char = 'c';
const ANY: char = '-';

/// The constant bytes of the objects behind the pointers of a module's kernels.
#[derive(Debug)]
pub struct ConstantBytes(Vec<(String, u32, Vec<bool>)>);

impl ConstantBytes {
    /// Looks for them in a module, which stays as it is.
    pub fn find(module: &Module<'_>) -> Self {
        let copy = module::copy(module);
        expose_loads(&copy);
        let sources = PointerSources::of(&copy);
        let receivers = receivers(&sources.sites);
        let kernels = symbols(&copy).into_iter().filter(|&global| is_kernel(global));
        let mut found = Vec::new();
        for kernel in kernels.filter_map(Symbol::as_function) {
            let memory = KernelMemory::of(&sources, kernel);
            for index in 0..kernel.count_params() {
                let bytes = memory.constant_bytes(index, &receivers);
                if !bytes.is_empty() {
                    found.push((Symbol::from(kernel).name(), index, bytes));
                }
            }
        }
        Self(found)
    }

    /// Notes them with the kernels of the module, which passes have changed since.
    pub fn note(&self, module: &Module<'_>) {
        for (kernel, index, bytes) in &self.0 {
            let Some(kernel) = find(module, kernel).and_then(Symbol::as_function) else {
                continue;
            };
            let text: String = bytes
                .iter()
                .map(|&constant| if constant { CONSTANT } else { ANY })
                .collect();
            let attribute = module.get_context().create_string_attribute(ATTRIBUTE, &text);
            kernel.add_attribute(AttributeLoc::Param(*index), attribute);
        }
    }
}

/// The bytes that were noted of the object behind a kernel's parameter; past the end: not constant.
pub(super) fn noted_bytes(kernel: FunctionValue<'_>, index: u32) -> Vec<bool> {
    let attribute = kernel.get_string_attribute(AttributeLoc::Param(index), ATTRIBUTE);
    attribute.map_or_else(Vec::new, |attribute| {
        let text = attribute.get_string_value().to_string_lossy();
        text.chars().map(|byte| byte == CONSTANT).collect()
    })
}

impl<'ctx> KernelMemory<'_, 'ctx> {
    fn constant_bytes(&self, index: u32, receivers: &Receivers<'ctx>) -> Vec<bool> {
        let constant: HashSet<_> = self
            .constant_loads(index)
            .iter()
            .map(|load| load.instruction)
            .collect();
        let Some(BasicValueEnum::PointerValue(object)) = self.kernel.get_nth_param(index) else {
            return Vec::new();
        };
        let mut bytes = [false; MAX_CONTENTS];
        let mut loaded_otherwise = [false; MAX_CONTENTS];
        let parameters = self.parameters_that_are(object);
        for (&parameter, start) in &parameters {
            let uses = pointer_uses(parameter);
            for pointer_use in &uses {
                match pointer_use.kind {
                    PointerUseKind::Load { size } => {
                        let is_constant = constant.contains(&pointer_use.instruction);
                        let loaded = if is_constant {
                            &mut bytes
                        } else {
                            &mut loaded_otherwise
                        };
                        mark(loaded, start + pointer_use.offset, size);
                    }
                    PointerUseKind::Passed | PointerUseKind::Stored => {
                        let key = (pointer_use.instruction, pointer_use.pointer);
                        let received = receivers.get(&key).map_or(&[][..], Vec::as_slice);
                        let is_known = received.iter().all(|by| parameters.contains_key(by));
                        if !is_known || received.len() < times_used(&uses, pointer_use) {
                            return Vec::new();
                        }
                    }
                    PointerUseKind::Store { .. } | PointerUseKind::Other => return Vec::new(),
                }
            }
        }
        let pairs = bytes.iter().zip(loaded_otherwise);
        let constant: Vec<bool> = pairs
            .map(|(&constant, otherwise)| constant && !otherwise)
            .collect();
        let end = constant.iter().rposition(|&constant| constant);
        constant[..end.map_or(0, |last| last + 1)].to_vec()
    }
}

/// How often the instruction uses the pointer.
fn times_used(uses: &[PointerUse<'_>], one: &PointerUse<'_>) -> usize {
    let same = |other: &&PointerUse<'_>| other.instruction == one.instruction && other.pointer == one.pointer;
    uses.iter().filter(same).count()
}

/// Marks the bytes of an access that are among those looked at.
fn mark(bytes: &mut [bool], offset: i64, size: u64) {
    let end = i128::from(offset) + i128::from(size);
    for (position, byte) in (0_i128..).zip(bytes) {
        *byte |= (i128::from(offset)..end).contains(&position);
    }
}
