//! Offload entries in IR: the record in its section and the string with its name, as Clang writes them.

use offloom_abi::entry::{self, EntryField, EntryFlags, FieldType};
use offloom_abi::names::OFFLOADING_SYMBOLS_METADATA;
use offloom_abi::{LlvmVersion, OffloadKind};
use offloom_ir::LLVM;
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::types::{BasicTypeEnum, StructType};
use offloom_ir::inkwell::values::{BasicValueEnum, PointerValue, StructValue, UnnamedAddress};
use offloom_ir::metadata::{Operand, append_node};
use offloom_ir::symbol::{Symbol, variables};
use std::collections::HashSet;

/// What goes into an entry.
#[derive(Debug)]
pub(crate) struct EntryRecord<'a, 'ctx> {
    /// The name of the device symbol.
    pub(crate) name: &'a str,
    /// The address that the program knows the device symbol by; `None`: null.
    pub(crate) address: Option<Symbol<'ctx>>,
    /// Bytes that a variable takes; 0 for a target region.
    pub(crate) size: u64,
    /// What kind of entry it is.
    pub(crate) flags: EntryFlags,
    /// The clauses of a `requires` directive; 0 for other entries.
    pub(crate) data: u32,
}

/// The entries a module has, by name.
pub(crate) fn existing_names(module: &Module<'_>) -> Result<HashSet<String>, OtherLlvmEntry> {
    let mut names = HashSet::new();
    for symbol in variables(module) {
        let Some(section) = symbol.section() else {
            continue;
        };
        let name = symbol.name();
        if LLVM
            .with_other_entries()
            .is_some_and(|other| section == entry::section(other))
        {
            return Err(OtherLlvmEntry(name));
        }
        if section == entry::section(LLVM)
            && let Some(name) = name.strip_prefix(entry::GLOBAL_PREFIX)
        {
            names.insert(name.to_owned());
        }
    }
    Ok(names)
}

/// An entry that an LLVM with other entries made, whose layout this one's runtime does not know.
#[derive(Debug, thiserror::Error)]
#[error(
    "has the offload entry `{0}` as LLVM {other} writes it, and this is LLVM {this}: use one LLVM for all of a program",
    other = LLVM.with_other_entries().map_or(0, LlvmVersion::major),
    this = LLVM.major()
)]
pub(crate) struct OtherLlvmEntry(String);

/// Adds an entry and its name to the module.
pub(crate) fn add<'ctx>(module: &Module<'ctx>, record: &EntryRecord<'_, 'ctx>) {
    let name = add_name(module, record.name);
    let record_type = record_type(module);
    let global = module.add_global(record_type, None, &entry::global_name(record.name));
    global.set_initializer(&initial_value(module, record_type, record, name));
    global.set_constant(true);
    global.set_linkage(Linkage::WeakAny);
    global.set_section(Some(entry::section(LLVM)));
    global.set_alignment(entry::alignment(LLVM));
}

/// Adds the string with the entry's name and returns its address.
fn add_name<'ctx>(module: &Module<'ctx>, name: &str) -> PointerValue<'ctx> {
    let text = module.get_context().const_string(name.as_bytes(), true);
    let global = module.add_global(text.get_type(), None, entry::NAME_GLOBAL);
    global.set_initializer(&text);
    global.set_constant(true);
    global.set_linkage(Linkage::Internal);
    global.set_unnamed_address(UnnamedAddress::Global);
    if let Some(section) = entry::name_section(LLVM) {
        global.set_section(Some(section));
        // The section holds strings back to back.
        global.set_alignment(1);
    }
    if LLVM.lists_entry_names {
        let symbol = Operand::Symbol(Symbol::from(global));
        append_node(module, OFFLOADING_SYMBOLS_METADATA, &[symbol]);
    }
    global.as_pointer_value()
}

/// The record's type, under its name in the module's context.
fn record_type<'ctx>(module: &Module<'ctx>) -> StructType<'ctx> {
    let context = module.get_context();
    let fields: Vec<BasicTypeEnum<'_>> = entry::fields(LLVM)
        .iter()
        .map(|(_, field_type)| match field_type {
            FieldType::Pointer => context.ptr_type(AddressSpace::default()).into(),
            FieldType::I16 => context.i16_type().into(),
            FieldType::I32 => context.i32_type().into(),
            FieldType::I64 => context.i64_type().into(),
        })
        .collect();
    if let Some(existing) = context.get_struct_type(entry::IR_STRUCT_NAME)
        && existing.get_field_types() == fields
    {
        return existing;
    }
    let new = context.opaque_struct_type(entry::IR_STRUCT_NAME);
    new.set_body(&fields, false);
    new
}

fn initial_value<'ctx>(
    module: &Module<'ctx>,
    record_type: StructType<'ctx>,
    record: &EntryRecord<'_, 'ctx>,
    name: PointerValue<'ctx>,
) -> StructValue<'ctx> {
    let context = module.get_context();
    let null = context.ptr_type(AddressSpace::default()).const_null();
    let pointer = |field| match field {
        EntryField::Address => record.address.map_or(null, Symbol::as_generic_pointer),
        EntryField::Name => name,
        _ => null,
    };
    let number = |field| match field {
        EntryField::Version => entry::RECORD_VERSION.into(),
        EntryField::Kind => OffloadKind::OpenMp.number(LLVM).unwrap_or_default().into(),
        EntryField::Flags => record.flags.0.into(),
        EntryField::Size => record.size,
        EntryField::Data => record.data.into(),
        _ => 0,
    };
    let values: Vec<BasicValueEnum<'_>> = entry::fields(LLVM)
        .iter()
        .map(|&(field, field_type)| match field_type {
            FieldType::Pointer => pointer(field).into(),
            FieldType::I16 => context.i16_type().const_int(number(field), false).into(),
            FieldType::I32 => context.i32_type().const_int(number(field), false).into(),
            FieldType::I64 => context.i64_type().const_int(number(field), false).into(),
        })
        .collect();
    record_type.const_named_struct(&values)
}
