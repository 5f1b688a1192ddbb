//! The named metadata `omp_offload.info`: what the host compile tells the device compile.
//!
//! Target region: `!{i32 0, i32 device id, i32 file id, !"parent", i32 line, i32 count, i32 order}`. Global:
//! `!{i32 1, !"name", i32 flags, i32 order}`. One order number counts through both kinds. Source:
//! `OffloadEntriesInfoManager` in `llvm/Frontend/OpenMP/OMPIRBuilder.h`.

use crate::error::PassError;
use offloom_abi::entry::EntryFlags;
use offloom_abi::kernel_name::KernelName;
use offloom_abi::names::{OFFLOAD_INFO_DEVICE_GLOBAL, OFFLOAD_INFO_METADATA, OFFLOAD_INFO_TARGET_REGION};
use offloom_ir::LLVM;
use offloom_ir::inkwell::module::Module;
use offloom_ir::metadata::{Operand, append_node, nodes};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

/// What a node stands for, without its order number.
#[derive(Debug)]
pub(crate) enum Subject {
    /// The kernel of this name, which follows Clang's scheme.
    Kernel(String),
    /// The global whose device symbol has this name.
    Global {
        /// The device symbol.
        name: String,
        /// Flags of its offload entry.
        flags: u32,
    },
}

impl Subject {
    /// The device symbol.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Kernel(name) | Self::Global { name, .. } => name,
        }
    }
}

/// The nodes of a module.
#[derive(Debug)]
pub(crate) struct OffloadInfo {
    kernels: HashSet<String>,
    globals: HashSet<String>,
    /// One more than the highest order number; `None`: there is none.
    next_order: Option<u32>,
}

impl OffloadInfo {
    /// Reads a module's metadata. Nothing there: an empty list.
    pub(crate) fn read(module: &Module<'_>) -> Result<Self, PassError> {
        let mut info = Self {
            kernels: HashSet::new(),
            globals: HashSet::new(),
            next_order: Some(0),
        };
        for (order, subject) in ordered(module)? {
            info.next_order = order.checked_add(1);
            info.insert(subject);
        }
        Ok(info)
    }

    /// What a module's metadata lists, by order number.
    pub(crate) fn subjects(module: &Module<'_>) -> Result<Vec<Subject>, PassError> {
        Ok(ordered(module)?.into_values().collect())
    }

    /// Whether the module has a node for the kernel or the global already, whatever the flags.
    pub(crate) fn contains(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Kernel(name) => self.kernels.contains(name),
            Subject::Global { name, .. } => self.globals.contains(name),
        }
    }

    fn insert(&mut self, subject: Subject) {
        match subject {
            Subject::Kernel(name) => self.kernels.insert(name),
            Subject::Global { name, .. } => self.globals.insert(name),
        };
    }

    /// Appends a node, with the next order number. A kernel's name must follow the scheme.
    pub(crate) fn append(&mut self, module: &Module<'_>, subject: Subject) -> Result<(), PassError> {
        let order = self.next_order.ok_or_else(|| PassError::OrderNumbersUsedUp {
            symbol: subject.name().to_owned(),
        })?;
        self.next_order = order.checked_add(1);
        let order = Operand::Integer(order);
        let node = match &subject {
            Subject::Kernel(name) => {
                let Some(kernel) = KernelName::parse(name) else {
                    return Ok(());
                };
                vec![
                    Operand::Integer(OFFLOAD_INFO_TARGET_REGION),
                    Operand::Integer(kernel.device_id),
                    Operand::Integer(kernel.file_id),
                    Operand::String(kernel.parent.to_owned()),
                    Operand::Integer(kernel.line),
                    Operand::Integer(kernel.count),
                    order,
                ]
            }
            Subject::Global { name, flags } => vec![
                Operand::Integer(OFFLOAD_INFO_DEVICE_GLOBAL),
                Operand::String(name.clone()),
                Operand::Integer(*flags),
                order,
            ],
        };
        append_node(module, OFFLOAD_INFO_METADATA, &node);
        self.insert(subject);
        Ok(())
    }
}

/// The device symbols of the globals that a module lists. The module may be linked of several: each brings
/// nodes with order numbers of its own, and lists again what a header declares.
pub(crate) fn listed_globals(module: &Module<'_>) -> Result<HashSet<String>, PassError> {
    let mut globals = HashSet::new();
    for (index, node) in nodes(module, OFFLOAD_INFO_METADATA).into_iter().enumerate() {
        match parse(&node).map_err(|problem| PassError::MalformedInfo { index, problem })? {
            (Subject::Global { name, .. }, _) => globals.insert(name),
            (Subject::Kernel(_), _) => false,
        };
    }
    Ok(globals)
}

/// The nodes by order number, of a module as a compiler makes it.
fn ordered(module: &Module<'_>) -> Result<BTreeMap<u32, Subject>, PassError> {
    let mut ordered: BTreeMap<u32, Subject> = BTreeMap::new();
    let mut names = HashSet::new();
    for (index, node) in nodes(module, OFFLOAD_INFO_METADATA).into_iter().enumerate() {
        let (subject, order) = parse(&node).map_err(|problem| PassError::MalformedInfo { index, problem })?;
        if !names.insert(subject.name().to_owned()) {
            let symbol = subject.name().to_owned();
            return Err(PassError::ListedTwice { index, symbol });
        }
        match ordered.entry(order) {
            Entry::Vacant(place) => place.insert(subject),
            Entry::Occupied(other) => {
                return Err(PassError::DuplicateOrder {
                    index,
                    order,
                    symbol: subject.name().to_owned(),
                    other: other.get().name().to_owned(),
                });
            }
        };
    }
    Ok(ordered)
}

/// Whether this LLVM has globals with these flags.
fn is_known(flags: EntryFlags) -> bool {
    match flags {
        EntryFlags::NONE | EntryFlags::LINK | EntryFlags::ENTER | EntryFlags::INDIRECT => true,
        EntryFlags::INDIRECT_VTABLE => LLVM.indirect_vtables,
        _ => false,
    }
}

fn parse(node: &[Operand<'_>]) -> Result<(Subject, u32), &'static str> {
    use Operand::{Integer, String};
    match node {
        [
            Integer(OFFLOAD_INFO_TARGET_REGION),
            Integer(device_id),
            Integer(file_id),
            String(parent),
            Integer(line),
            Integer(count),
            Integer(order),
        ] => {
            let name = KernelName {
                device_id: *device_id,
                file_id: *file_id,
                parent,
                line: *line,
                count: *count,
            };
            Ok((Subject::Kernel(name.to_string()), *order))
        }
        [
            Integer(OFFLOAD_INFO_DEVICE_GLOBAL),
            String(name),
            Integer(flags),
            Integer(order),
        ] if is_known(EntryFlags(*flags)) => {
            let name = name.clone();
            Ok((Subject::Global { name, flags: *flags }, *order))
        }
        [Integer(OFFLOAD_INFO_TARGET_REGION), ..] => {
            Err("a target region is {0, device id, file id, name of the parent function, line, count, order}")
        }
        [
            Integer(OFFLOAD_INFO_DEVICE_GLOBAL),
            String(_),
            Integer(_),
            Integer(_),
        ] => Err(
            "the flags of a global are 0 (to), 1 (link), 2 (enter), 8 (indirect) or, in LLVM 22, 32 (indirect vtable)",
        ),
        [Integer(OFFLOAD_INFO_DEVICE_GLOBAL), ..] => Err("a global is {1, name, flags, order}"),
        _ => Err("it must start with 0 (a target region) or 1 (a global)"),
    }
}
