//! Tables of addresses: the one that a base image exports, and the one that a variant reads.
//!
//! The records are those of [`offloom_abi::jit_device_image`].

use offloom_abi::jit_bundle::BundleId;
use offloom_abi::jit_device_image::{ANCHOR_TABLE_SYMBOL, IMAGE_SYMBOL, MAGIC, VERSION};
use offloom_abi::jit_image::ANCHOR_PREFIX;
use offloom_ir::gpu::bind_to_table;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::values::GlobalValue;
use offloom_ir::inkwell::{AddressSpace, GlobalVisibility};
use offloom_ir::symbol::{Symbol, SymbolKind, find, symbols};

use super::{CONSTANT_MEMORY, GLOBAL_MEMORY};
use crate::error::JitPassError;
use crate::survey::Survey;

/// Adds the exported variable to the base image's module. Nothing else of it changes.
///
/// # Errors
/// When an anchor is not in the module.
pub(crate) fn export_anchors(
    module: &Module<'_>,
    survey: &Survey,
    bundle: BundleId,
) -> Result<(), JitPassError> {
    let context = module.get_context();
    let long = context.i64_type();
    let header = [
        u64::from_le_bytes(MAGIC),
        u64::from(VERSION),
        half(&bundle.0[..8]),
        half(&bundle.0[8..]),
        survey.anchors.len() as u64,
    ];
    let header: Vec<_> = header.map(|word| long.const_int(word, false)).into();
    let address = |name: &String| {
        let found = find(module, name).ok_or_else(|| JitPassError::NoSuchAnchor(name.clone()))?;
        Ok(found.as_generic_pointer())
    };
    let names = survey.anchors.iter().map(|anchor| &anchor.name);
    let addresses = names.map(address).collect::<Result<Vec<_>, JitPassError>>()?;
    let pointer = context.ptr_type(AddressSpace::default());
    let value = context.const_struct(
        &[
            long.const_array(&header).into(),
            pointer.const_array(&addresses).into(),
        ],
        false,
    );
    let variable = module.add_global(
        value.get_type(),
        Some(AddressSpace::from(GLOBAL_MEMORY)),
        IMAGE_SYMBOL,
    );
    variable.set_initializer(&value);
    variable.set_alignment(8);
    // As Clang has what the host looks up by name.
    variable.set_visibility(GlobalVisibility::Protected);
    Ok(())
}

fn half(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Takes from the constants of a module those initial values that need an address of the base image, which is
/// not known before the variant runs: what code loads of them it loads from the base image's copy.
pub(crate) fn drop_bound_values(module: &Module<'_>) {
    for variable in symbols(module) {
        let is_anchor = variable.name().starts_with(ANCHOR_PREFIX);
        let needs_address = || {
            variable
                .references()
                .into_iter()
                .any(|other| other.name().starts_with(ANCHOR_PREFIX))
        };
        if is_anchor
            && variable.kind() == SymbolKind::Variable
            && !variable.is_declaration()
            && needs_address()
        {
            variable.become_declaration();
        }
    }
}

/// Has the variant read the addresses of what it shares with the base image, in the order of their numbers,
/// from a table. A variant that shares nothing gets none.
///
/// # Errors
/// When an initial value needs such an address: a mistake of ours.
pub(crate) fn bind_anchors(module: &Module<'_>, count: u32) -> Result<(), JitPassError> {
    let anchors: Vec<Option<Symbol<'_>>> = (0..count)
        .map(|number| find(module, &format!("{ANCHOR_PREFIX}{number}")))
        .collect();
    for anchor in anchors.iter().flatten() {
        anchor.become_declaration();
    }
    if anchors.iter().all(Option::is_none) {
        return Ok(());
    }
    let table = add_table(module, count);
    bind_to_table(table, &anchors).map_err(JitPassError::NoSuchAnchor)
}

/// The table: no constant, or LLVM would take the zeros in it for the addresses.
fn add_table<'ctx>(module: &Module<'ctx>, count: u32) -> GlobalValue<'ctx> {
    let context = module.get_context();
    let addresses = context
        .ptr_type(AddressSpace::from(GLOBAL_MEMORY))
        .array_type(count);
    let table = module.add_global(
        addresses,
        Some(AddressSpace::from(CONSTANT_MEMORY)),
        ANCHOR_TABLE_SYMBOL,
    );
    table.set_initializer(&addresses.const_zero());
    table.set_externally_initialized(true);
    table.set_alignment(8);
    table.set_linkage(Linkage::External);
    table.set_visibility(GlobalVisibility::Protected);
    table
}
