//! Gives the base image its anchor table, a constructor that announces table and slots to the runtime, if one
//! is loaded, and a destructor that withdraws them.
//!
//! The records are those of [`offloom_abi::jit_image`].

use offloom_abi::jit_bundle::BundleId;
use offloom_abi::jit_image::{ANNOUNCE_SYMBOL, VERSION, WITHDRAW_SYMBOL};
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::values::{BasicValueEnum, FunctionValue, GlobalValue};
use offloom_ir::module::{append_constructor, append_destructor};
use offloom_ir::symbol::find;

use crate::error::JitPassError;
use crate::survey::{Anchor, Survey};

/// Name of the internal table of anchors.
pub const ANCHORS: &str = "offloom.jit.anchors";
/// Name of the internal announcement.
pub const ANNOUNCEMENT: &str = "offloom.jit.announcement";
/// Name of the internal constructor.
pub const CONSTRUCTOR: &str = "offloom.jit.announce";
/// Name of the internal destructor.
pub const DESTRUCTOR: &str = "offloom.jit.withdraw";
/// Before every constructor of the program's own device code, and after every destructor.
const PRIORITY: u16 = 101;

/// Adds table, announcement, constructor and destructor. `slots` is what
/// [`crate::dispatch_stub::add_dispatch_stubs`] returned.
///
/// # Errors
/// When an instruction cannot be built, or an anchor is not in the module.
pub fn add_announcement<'ctx>(
    module: &Module<'ctx>,
    survey: &Survey,
    slots: GlobalValue<'ctx>,
    bundle: BundleId,
) -> Result<(), JitPassError> {
    let context = module.get_context();
    let pointer = context.ptr_type(AddressSpace::default());
    let (int, long) = (context.i32_type(), context.i64_type());

    let address = |anchor: &Anchor| {
        let found =
            find(module, &anchor.name).ok_or_else(|| JitPassError::NoSuchAnchor(anchor.name.clone()))?;
        let value = found.as_global_value();
        // Without the table, what uses it is mostly optimised away before the link asks for a definition,
        // which there need not be.
        if found.is_foreign_empty_object() {
            value.set_linkage(Linkage::ExternalWeak);
        }
        Ok(value.as_pointer_value())
    };
    let anchors = survey.anchors.iter().map(address);
    let anchors = pointer.const_array(&anchors.collect::<Result<Vec<_>, JitPassError>>()?);
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

    let constructor = call_of_hook(module, CONSTRUCTOR, ANNOUNCE_SYMBOL, announcement)?;
    append_constructor(module, constructor, PRIORITY);
    let destructor = call_of_hook(module, DESTRUCTOR, WITHDRAW_SYMBOL, announcement)?;
    append_destructor(module, destructor, PRIORITY);
    Ok(())
}

/// An internal function `name` that calls the weak function `hook` with the announcement, if it is there.
fn call_of_hook<'ctx>(
    module: &Module<'ctx>,
    name: &str,
    hook: &str,
    announcement: GlobalValue<'ctx>,
) -> Result<FunctionValue<'ctx>, JitPassError> {
    let context = module.get_context();
    let pointer = context.ptr_type(AddressSpace::default());
    let hook_type = context.void_type().fn_type(&[pointer.into()], false);
    let hook = module.add_function(hook, hook_type, Some(Linkage::ExternalWeak));
    let function_type = context.void_type().fn_type(&[], false);
    let function = module.add_function(name, function_type, Some(Linkage::Internal));
    let builder = context.create_builder();
    let entry = context.append_basic_block(function, "entry");
    let call = context.append_basic_block(function, "call");
    let done = context.append_basic_block(function, "done");
    builder.position_at_end(entry);
    let absent = builder.build_is_null(hook.as_global_value().as_pointer_value(), "absent")?;
    builder.build_conditional_branch(absent, done, call)?;
    builder.position_at_end(call);
    builder.build_call(hook, &[announcement.as_pointer_value().into()], "")?;
    builder.build_unconditional_branch(done)?;
    builder.position_at_end(done);
    builder.build_return(None)?;
    Ok(function)
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
