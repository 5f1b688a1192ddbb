//! `offload-entries`: ties what a module offloads to its device symbols.
//!
//! For each target region and each variable with a copy on the device:
//!
//! ```text
//! @.<kernel>.region_id = weak constant i8 0                                    ; host, where it is missing; hidden if the function is
//! @.offloading.entry_name = internal unnamed_addr constant [N x i8] c"<kernel>\00"
//! @.offloading.entry.<kernel> = weak constant %struct.__tgt_offload_entry { … }, section "…"
//! !omp_offload.info = !{!{i32 0, …}, …}
//! ```
//! and, on the host, the `ident_t` of calls of the runtime that pass none and of which debug info knows the
//! place, and an entry for what the module requires of the runtime, if a marker says so.
//!
//! Host entries hold the region id or the variable, device entries the kernel or the variable; GPU images
//! have no entries, only the metadata. A host function marked as a kernel keeps its name and gets the kernel
//! `__omp_offloading_0_0_<function>_l0`. Entries and metadata that are there already, as Clang's are, stay as
//! they are. Markers are taken away once acted on. Local and hidden variables and declarations get metadata
//! and no entry, because the runtime could not find them here.
//!
//! Unasked it runs at the start of every compile of a module with an explicit marker.

use crate::entry_record::{self, EntryRecord};
use crate::error::PassError;
use crate::host_address::Address;
use crate::markers::{self, Mark, Marked, REQUIRES_METADATA, kernel_of_function};
use crate::offload_info::{OffloadInfo, Subject};
use crate::parameters::Parameters;
use crate::registry::{ExtensionPoint, Pass, Unasked};
use crate::{source_locations, target};
use llvm_plugin::PreservedAnalyses;
use offloom_abi::entry::{self, EntryFlags};
use offloom_abi::kernel_name::{KernelName, is_vtable_constant, kernel_of_region_id};
use offloom_abi::names::{LINK_REFERENCE_SUFFIX, is_link_reference};
use offloom_ir::LLVM;
use offloom_ir::inkwell::GlobalVisibility;
use offloom_ir::inkwell::module::Module;
use offloom_ir::module::{erase_named_metadata, pointer_size};
use offloom_ir::symbol::{Symbol, functions, variables};
use std::collections::{HashMap, HashSet};

pub(crate) const PASS: Pass = Pass {
    name: "offload-entries",
    parameters: &[],
    run,
    unasked: Some(Unasked {
        at: ExtensionPoint::PipelineStart,
        concerns: markers::any_explicit,
    }),
};

pub(crate) fn run(module: &Module<'_>, _: &Parameters) -> Result<PreservedAnalyses, PassError> {
    let marked = markers::explicit(module)?;
    let mut info = OffloadInfo::read(module)?;
    let wanted = if target::is_device(module) {
        wanted_on_device(module, &marked)
    } else {
        wanted_on_host(module, &marked)?
    };
    let mut preserved = PreservedAnalyses::All;
    let mut entries = entry_record::existing_names(module)?;
    for item in wanted {
        let entry_name = item.entry_name.as_ref().unwrap_or(&item.name);
        let needs_info = !info.contains(&item.subject());
        let needs_entry = item.has_entry && !entries.contains(entry_name);
        if needs_info {
            info.append(module, item.subject())?;
        }
        if needs_entry {
            let address = item.address.resolve(module)?;
            let record = EntryRecord {
                name: entry_name,
                address: Some(address),
                size: item.size,
                flags: item.flags,
                data: 0,
            };
            entry_record::add(module, &record);
            entries.insert(entry_name.clone());
        }
        if needs_info || needs_entry {
            preserved = PreservedAnalyses::None;
        }
    }
    if !target::is_device(module) && source_locations::add(module, &marked) {
        preserved = PreservedAnalyses::None;
    }
    if let Some(clauses) = markers::requires(module)? {
        // The device module of Clang has no trace of it.
        if !target::is_device(module) {
            add_requires(module, clauses, &entries);
        }
        erase_named_metadata(module, REQUIRES_METADATA);
        preserved = PreservedAnalyses::None;
    }
    for (symbol, mark) in marked {
        // On a device, a marked function has yet to be made a kernel by another pass.
        let waits = mark.kernel_flags().is_some() && target::is_device(module);
        if !waits || KernelName::parse(&symbol.name()).is_some() {
            markers::clear(symbol);
            preserved = PreservedAnalyses::None;
        }
    }
    Ok(preserved)
}

/// The entry that tells the runtime what the program requires.
fn add_requires(module: &Module<'_>, clauses: u32, existing: &HashSet<String>) {
    let name = entry::requires_name(LLVM);
    if !existing.contains(name) {
        let record = EntryRecord {
            name,
            address: None,
            size: 0,
            flags: EntryFlags::REQUIRES,
            data: clauses,
        };
        entry_record::add(module, &record);
    }
}

/// Something that must have an entry or metadata.
struct Wanted<'ctx> {
    /// The device symbol.
    name: String,
    /// What the entry is called where that is not the device symbol.
    entry_name: Option<String>,
    address: Address<'ctx>,
    /// Bytes of a variable, 0 for a kernel.
    size: u64,
    flags: EntryFlags,
    has_entry: bool,
    is_kernel: bool,
}

impl Wanted<'_> {
    fn subject(&self) -> Subject {
        let name = self.name.clone();
        if self.is_kernel {
            return Subject::Kernel(name);
        }
        let flags = self.flags.0;
        Subject::Global { name, flags }
    }
}

fn wanted_on_host<'ctx>(
    module: &Module<'ctx>,
    marked: &Marked<'ctx>,
) -> Result<Vec<Wanted<'ctx>>, PassError> {
    let mut wanted = Vec::new();
    let mut kernels = HashSet::new();
    let mut indirect_functions = HashMap::new();
    for symbol in variables(module) {
        let name = symbol.name();
        if let Some(&mark) = marked.get(&symbol) {
            wanted.push(match mark {
                Mark::IndirectVtable => Wanted {
                    size: symbol.value_size(module),
                    flags: EntryFlags::INDIRECT_VTABLE,
                    has_entry: symbol.is_definition(),
                    ..indirect(module, markers::indirect_name(symbol), symbol)
                },
                _ => variable(module, symbol, mark),
            });
        } else if symbol.is_declaration() {
            // A region id that another file has, for example.
        } else if let Some(kernel) =
            kernel_of_region_id(&name).filter(|name| KernelName::parse(name).is_some())
        {
            kernels.insert(kernel.to_owned());
            wanted.push(region(kernel.to_owned()));
        } else if is_link_reference(&name) {
            wanted.push(variable(module, symbol, Mark::Link));
        }
    }
    for symbol in functions(module)
        .into_iter()
        .filter(|symbol| symbol.is_definition())
    {
        let name = symbol.name();
        let mark = marked.get(&symbol);
        if mark == Some(&Mark::Indirect) {
            let device_symbol = markers::indirect_name(symbol);
            if let Some(first) = indirect_functions.insert(device_symbol.clone(), symbol) {
                return Err(PassError::SameDeviceSymbol {
                    first: first.name(),
                    second: name,
                    symbol: device_symbol,
                });
            }
            wanted.push(indirect(module, device_symbol, symbol));
            continue;
        }
        let marked_flags = mark.and_then(|mark| mark.kernel_flags());
        if mark.is_some() && marked_flags.is_none() {
            // Only device code calls it.
            continue;
        }
        let kernel = match KernelName::parse(&name) {
            // Local ones are the host versions of Clang's regions, which exist without offloading as well.
            Some(_) if !symbol.is_local() => name,
            None if mark.is_some() => kernel_of_function(&name),
            _ => continue,
        };
        if kernels.insert(kernel.clone()) {
            let flags = marked_flags.unwrap_or(EntryFlags::NONE);
            wanted.push(Wanted {
                flags,
                address: Address::RegionId(kernel.clone(), symbol.visibility()),
                ..region(kernel)
            });
        }
    }
    Ok(wanted)
}

fn wanted_on_device<'ctx>(module: &Module<'ctx>, marked: &Marked<'ctx>) -> Vec<Wanted<'ctx>> {
    let mut wanted = Vec::new();
    for symbol in variables(module) {
        let name = symbol.name();
        if is_link_reference(&name) {
            // The runtime fills this pointer in, through the host's entry. The name alone does not tell that
            // the host has one: Clang 22 makes such pointers for every variable of the headers where memory
            // is shared.
            if let Some(&mark) = marked.get(&symbol) {
                let has_entry = false;
                wanted.push(Wanted {
                    has_entry,
                    ..variable(module, symbol, mark)
                });
            }
        } else if marked.get(&symbol) == Some(&Mark::Variable) {
            wanted.push(variable(module, symbol, Mark::Variable));
        } else if symbol.is_definition() && KernelName::parse(&name).is_some() {
            wanted.push(indirect(module, name, symbol));
        } else if let Some(table) = indirect_vtable(symbol, &name) {
            // The runtime finds the table by the constant, which needs no entry.
            wanted.push(Wanted {
                entry_name: Some(table.name()),
                size: table.value_size(module),
                flags: EntryFlags::INDIRECT_VTABLE,
                ..indirect(module, name, table)
            });
        }
    }
    for symbol in functions(module) {
        let name = symbol.name();
        if symbol.is_definition() && !symbol.is_local() && KernelName::parse(&name).is_some() {
            wanted.push(Wanted {
                address: Address::Symbol(symbol),
                flags: marked
                    .get(&symbol)
                    .and_then(|mark| mark.kernel_flags())
                    .unwrap_or(EntryFlags::NONE),
                ..region(name)
            });
        }
    }
    if target::is_gpu(module) {
        for item in &mut wanted {
            item.has_entry = false;
        }
    }
    wanted
}

fn region<'ctx>(kernel: String) -> Wanted<'ctx> {
    Wanted {
        address: Address::RegionId(kernel.clone(), GlobalVisibility::Default),
        name: kernel,
        entry_name: None,
        size: 0,
        flags: EntryFlags::NONE,
        has_entry: true,
        is_kernel: true,
    }
}

/// A function that device code may call through the host's pointer. `address` is the function on the host,
/// and on the device the constant that holds the device function's address.
fn indirect<'ctx>(module: &Module<'ctx>, name: String, address: Symbol<'ctx>) -> Wanted<'ctx> {
    Wanted {
        name,
        entry_name: None,
        address: Address::Symbol(address),
        size: pointer_size(module).into(),
        flags: EntryFlags::INDIRECT,
        has_entry: true,
        is_kernel: false,
    }
}

/// The table whose address the device constant `symbol` holds, if it is such a constant.
fn indirect_vtable<'ctx>(symbol: Symbol<'ctx>, name: &str) -> Option<Symbol<'ctx>> {
    if !is_vtable_constant(name) || !symbol.is_definition() {
        return None;
    }
    Symbol::behind(&symbol.initializer()?).filter(|table| table.as_variable().is_some())
}

/// A variable, or the pointer to a `link` variable. One that is only declared here has no entry here.
fn variable<'ctx>(module: &Module<'ctx>, symbol: Symbol<'ctx>, mark: Mark) -> Wanted<'ctx> {
    let name = symbol.name();
    let is_marked_link = mark == Mark::Link && !is_link_reference(&name);
    let size = if is_marked_link {
        pointer_size(module).into()
    } else {
        symbol.value_size(module)
    };
    let cannot_be_found = symbol.is_local() || symbol.visibility() == GlobalVisibility::Hidden;
    Wanted {
        name: if is_marked_link {
            name + LINK_REFERENCE_SUFFIX
        } else {
            name
        },
        entry_name: None,
        address: if is_marked_link {
            Address::LinkReference(symbol)
        } else {
            Address::Symbol(symbol)
        },
        size,
        flags: if mark == Mark::Link {
            EntryFlags::LINK
        } else {
            EntryFlags::NONE
        },
        has_entry: size != 0 && symbol.is_definition() && (is_marked_link || !cannot_be_found),
        is_kernel: false,
    }
}
