//! Gives the base image its anchor table and a constructor that announces table and slots to the runtime, if one is loaded.
//!
//! The records are those of [`offloom_abi::jit_image`].

use offloom_abi::jit_bundle::BundleId;
use offloom_abi::jit_image::{ANNOUNCE_SYMBOL, VERSION};
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::values::{BasicValueEnum, GlobalValue};
use offloom_ir::jit_globals::{append_constructor, find};

use crate::error::JitPassError;
use crate::survey::Survey;

/// Name of the internal table of anchors.
pub const ANCHORS: &str = "offloom.jit.anchors";
/// Name of the internal announcement.
pub const ANNOUNCEMENT: &str = "offloom.jit.announcement";
/// Name of the internal constructor.
pub const CONSTRUCTOR: &str = "offloom.jit.announce";
/// Before every constructor of the program's own device code.
const PRIORITY: u16 = 101;

/// Adds table, announcement and constructor. `slots` is what [`crate::dispatch_stub::add_dispatch_stubs`] returned.
///
/// # Errors
/// When an instruction cannot be built.
pub fn add_announcement<'ctx>(
    module: &Module<'ctx>,
    survey: &Survey,
    slots: GlobalValue<'ctx>,
    bundle: BundleId,
) -> Result<(), JitPassError> {
    let context = module.get_context();
    let pointer = context.ptr_type(AddressSpace::default());
    let (int, long) = (context.i32_type(), context.i64_type());

    let anchors: Vec<_> = survey
        .anchors
        .iter()
        .map(|anchor| {
            find(module, &anchor.name).map_or_else(
                || pointer.const_null(),
                |global| global.as_global_value().as_pointer_value(),
            )
        })
        .collect();
    let anchors = pointer.const_array(&anchors);
    let table = internal_constant(module, ANCHORS, anchors.into());
    let id: Vec<_> = bundle
        .0
        .iter()
        .map(|&byte| context.i8_type().const_int(u64::from(byte), false))
        .collect();
    let announcement = context.const_struct(
        &[
            int.const_int(u64::from(VERSION), false).into(),
            int.const_int(survey.kernels.len() as u64, false).into(),
            context.i8_type().const_array(&id).into(),
            slots.as_pointer_value().into(),
            table.as_pointer_value().into(),
            long.const_int(survey.anchors.len() as u64, false).into(),
        ],
        false,
    );
    let announcement = internal_constant(module, ANNOUNCEMENT, announcement.into());

    let hook_type = context.void_type().fn_type(&[pointer.into()], false);
    let hook = module.add_function(ANNOUNCE_SYMBOL, hook_type, Some(Linkage::ExternalWeak));
    let constructor_type = context.void_type().fn_type(&[], false);
    let constructor = module.add_function(CONSTRUCTOR, constructor_type, Some(Linkage::Internal));
    let builder = context.create_builder();
    let entry = context.append_basic_block(constructor, "entry");
    let announce = context.append_basic_block(constructor, "announce");
    let done = context.append_basic_block(constructor, "done");
    builder.position_at_end(entry);
    let absent = builder.build_is_null(hook.as_global_value().as_pointer_value(), "absent")?;
    builder.build_conditional_branch(absent, done, announce)?;
    builder.position_at_end(announce);
    builder.build_call(hook, &[announcement.as_pointer_value().into()], "")?;
    builder.build_unconditional_branch(done)?;
    builder.position_at_end(done);
    builder.build_return(None)?;
    append_constructor(module, constructor, PRIORITY);
    Ok(())
}

fn internal_constant<'ctx>(
    module: &Module<'ctx>,
    name: &str,
    value: BasicValueEnum<'ctx>,
) -> GlobalValue<'ctx> {
    let variable = module.add_global(value.get_type(), None, name);
    variable.set_linkage(Linkage::Internal);
    variable.set_constant(true);
    variable.set_initializer(&value);
    variable
}
