//! Gives each kernel of the base image a stub under its name, and a slot that decides what the stub runs.
//!
//! The records and the protocol are those of [`offloom_abi::jit_image`].

use offloom_ir::inkwell::attributes::{Attribute, AttributeLoc};
use offloom_ir::inkwell::builder::Builder;
use offloom_ir::inkwell::context::ContextRef;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::types::StructType;
use offloom_ir::inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, CallSiteValue, FunctionValue, GlobalValue,
    PointerValue, StructValue,
};
use offloom_ir::inkwell::{AddressSpace, AtomicOrdering, IntPredicate};
use offloom_ir::jit_globals::{Global, find};

use crate::ahead_of_time;
use crate::error::JitPassError;

/// Name of the internal variable that holds the slots, one after the other.
pub const SLOTS: &str = "offloom.jit.slots";

/// Attributes that hold for the kernel's code but not for a stub, which writes memory of its own and calls the runtime.
const NOT_OF_STUBS: [&str; 7] = [
    "memory",
    "norecurse",
    "nosync",
    "nofree",
    "willreturn",
    "speculatable",
    "nocallback",
];

/// Registers for arguments by the psABI of x86_64, System V: for numbers and pointers, and for floating-point numbers.
const GENERAL_REGISTERS: usize = 6;
const VECTOR_REGISTERS: usize = 8;

/// Replaces each kernel by a stub and returns the variable with their slots.
///
/// # Errors
/// When a name is not a kernel of the module.
pub fn add_dispatch_stubs<'ctx>(
    module: &Module<'ctx>,
    kernels: &[String],
) -> Result<GlobalValue<'ctx>, JitPassError> {
    let context = module.get_context();
    let slot_type = slot_type(context);
    // An array in memory; a structure in IR, so that its elements can be addressed without unchecked arithmetic.
    let slots_type = context.struct_type(&vec![slot_type.into(); kernels.len()], false);
    let slots = module.add_global(slots_type, None, SLOTS);
    slots.set_linkage(Linkage::Internal);
    slots.set_alignment(64);
    let builder = context.create_builder();
    let mut initial = Vec::new();
    for (index, name) in kernels.iter().enumerate() {
        let body = find(module, name).and_then(Global::as_function);
        let body = body.ok_or_else(|| JitPassError::NoSuchKernel(name.clone()))?;
        initial.push(initial_slot(module, slot_type, body, index as u32));
        let stub = replace_by_stub(module, body, name);
        let entry = context.append_basic_block(stub, "entry");
        builder.position_at_end(entry);
        let slot = builder.build_struct_gep(slots_type, slots.as_pointer_value(), index as u32, "slot")?;
        build_stub(context, &builder, stub, body, slot, slot_type)?;
    }
    let initial: Vec<_> = initial.into_iter().map(Into::into).collect();
    slots.set_initializer(&slots_type.const_named_struct(&initial));
    Ok(slots)
}

/// [`offloom_abi::jit_image::Slot`] in IR.
fn slot_type(context: ContextRef<'_>) -> StructType<'_> {
    let pointer = context.ptr_type(AddressSpace::default()).into();
    let int = context.i32_type().into();
    context.struct_type(&[pointer, pointer, pointer, int, int], false)
}

fn initial_slot<'ctx>(
    module: &Module<'ctx>,
    slot_type: StructType<'ctx>,
    kernel: FunctionValue<'ctx>,
    index: u32,
) -> StructValue<'ctx> {
    let context = module.get_context();
    let null = context.ptr_type(AddressSpace::default()).const_null();
    slot_type.const_named_struct(&[
        null.into(),
        null.into(),
        null.into(),
        context.i32_type().const_int(u64::from(index), false).into(),
        context
            .i32_type()
            .const_int(u64::from(kernel.count_params()), false)
            .into(),
    ])
}

/// Moves the kernel's code to a body of its own and declares a function that takes over its name, uses and promises.
fn replace_by_stub<'ctx>(
    module: &Module<'ctx>,
    body: FunctionValue<'ctx>,
    name: &str,
) -> FunctionValue<'ctx> {
    let kernel = body.as_global_value();
    // Clang's unoptimised kernels carry it, and it excludes `noinline`.
    body.remove_enum_attribute(
        AttributeLoc::Function,
        Attribute::get_named_enum_kind_id("alwaysinline"),
    );
    let stub = module.add_function("offloom.stub", body.get_type(), Some(kernel.get_linkage()));
    stub.as_global_value().set_visibility(kernel.get_visibility());
    stub.as_global_value()
        .set_unnamed_address(kernel.get_unnamed_address());
    stub.set_call_conventions(body.get_call_conventions());
    copy_attributes(body, stub);
    body.replace_all_uses_with(stub);
    Global::from(body).set_name(&ahead_of_time::name_of(name));
    Global::from(stub).set_name(name);
    Global::from(body).become_internal();
    // Two copies of a kernel's code are of no use, and a stub must stay small.
    let noinline = Attribute::get_named_enum_kind_id("noinline");
    body.add_attribute(
        AttributeLoc::Function,
        module.get_context().create_enum_attribute(noinline, 0),
    );
    stub
}

fn copy_attributes(from: FunctionValue<'_>, to: FunctionValue<'_>) {
    let parameters = (0..from.count_params()).map(AttributeLoc::Param);
    for location in parameters.chain([AttributeLoc::Function]) {
        for attribute in from.attributes(location) {
            to.add_attribute(location, attribute);
        }
    }
    for attribute in NOT_OF_STUBS {
        to.remove_enum_attribute(
            AttributeLoc::Function,
            Attribute::get_named_enum_kind_id(attribute),
        );
    }
}

fn build_stub<'ctx>(
    context: ContextRef<'ctx>,
    builder: &Builder<'ctx>,
    stub: FunctionValue<'ctx>,
    body: FunctionValue<'ctx>,
    slot: PointerValue<'ctx>,
    slot_type: StructType<'ctx>,
) -> Result<(), JitPassError> {
    let pointer = context.ptr_type(AddressSpace::default());
    let ticket_type = context.i64_type();
    let parameters = stub.get_params();
    let words: Vec<_> = parameters.iter().map(BasicValueEnum::get_type).collect();
    let words_type = context.struct_type(&words, false);
    let block = |name| context.append_basic_block(stub, name);
    let ask = block("ask");
    let chosen = block("chosen");
    let declined = block("declined");
    let kept = block("kept");
    let timed = block("timed");
    let left = block("left");
    let observed = block("observed");
    let finish = block("finish");
    let ahead_of_time = block("ahead_of_time");

    let arguments = builder.build_alloca(words_type, "arguments")?;
    let load_function = |field, name: &str| -> Result<PointerValue<'ctx>, JitPassError> {
        let address = builder.build_struct_gep(slot_type, slot, field, "")?;
        let function = builder.build_load(pointer, address, name)?.into_pointer_value();
        if let Some(load) = function.as_instruction_value() {
            // The runtime stores its state before the dispatch function; both must be seen in that order. A load takes any
            // ordering but release, and eight is a power of two.
            let _ = load.set_atomic_ordering(AtomicOrdering::Acquire);
            let _ = load.set_alignment(8);
        }
        Ok(function)
    };
    let dispatch = load_function(0, "dispatch")?;
    let empty = builder.build_is_null(dispatch, "empty")?;
    builder.build_conditional_branch(empty, ahead_of_time, ask)?;

    builder.position_at_end(ask);
    for (index, parameter) in parameters.iter().enumerate() {
        let word = builder.build_struct_gep(words_type, arguments, index as u32, "argument")?;
        builder.build_store(word, *parameter)?;
    }
    let choice_type = context.struct_type(&[pointer.into(), ticket_type.into()], false);
    let dispatch_type = choice_type.fn_type(&[pointer.into(), pointer.into()], false);
    let asked = builder.build_indirect_call(
        dispatch_type,
        dispatch,
        &[slot.into(), arguments.into()],
        "choice",
    )?;
    does_not_unwind(context, asked);
    let choice = asked
        .try_as_basic_value()
        .basic()
        .map_or_else(|| choice_type.const_zero(), BasicValueEnum::into_struct_value);
    let code = builder
        .build_extract_value(choice, 0, "code")?
        .into_pointer_value();
    let ticket = builder.build_extract_value(choice, 1, "ticket")?.into_int_value();
    let unobserved =
        builder.build_int_compare(IntPredicate::EQ, ticket, ticket_type.const_zero(), "unobserved")?;
    let none = builder.build_is_null(code, "none")?;
    builder.build_conditional_branch(none, declined, chosen)?;

    builder.position_at_end(chosen);
    builder.build_conditional_branch(unobserved, kept, timed)?;

    let call_kernel = |callee: Callee, arguments: &[_]| -> Result<CallSiteValue<'ctx>, JitPassError> {
        let call = match callee {
            Callee::Body => builder.build_call(body, arguments, "")?,
            Callee::Code => builder.build_indirect_call(stub.get_type(), code, arguments, "")?,
        };
        call.set_call_convention(stub.get_call_conventions());
        Ok(call)
    };
    // What is called does not see the stub's own memory, so the call may be a jump: the stub then leaves no frame behind, and no argument
    // on the stack is moved.
    let become_kernel = |callee, arguments: &[_]| -> Result<(), JitPassError> {
        call_kernel(callee, arguments)?.set_tail_call(true);
        builder.build_return(None)?;
        Ok(())
    };
    // From the words, so that no registers are saved for them.
    let read_back = |wanted: &[bool]| -> Result<Vec<BasicMetadataValueEnum<'ctx>>, JitPassError> {
        let all = parameters.iter().zip(wanted).enumerate();
        let read = all.map(|(index, (parameter, wanted))| {
            if !wanted {
                return Ok((*parameter).into());
            }
            let word = builder.build_struct_gep(words_type, arguments, index as u32, "")?;
            Ok(builder.build_load(parameter.get_type(), word, "")?.into())
        });
        read.collect()
    };
    let all = vec![true; parameters.len()];
    let in_registers = in_registers(&parameters);

    builder.position_at_end(kept);
    become_kernel(Callee::Code, &read_back(&in_registers)?)?;

    builder.position_at_end(timed);
    call_kernel(Callee::Code, &read_back(&all)?)?;
    builder.build_unconditional_branch(finish)?;

    builder.position_at_end(declined);
    builder.build_conditional_branch(unobserved, left, observed)?;

    builder.position_at_end(left);
    become_kernel(Callee::Body, &read_back(&all)?)?;

    builder.position_at_end(observed);
    call_kernel(Callee::Body, &read_back(&all)?)?;
    builder.build_unconditional_branch(finish)?;

    builder.position_at_end(finish);
    let finished = load_function(2, "finished")?;
    let finished_type = context
        .void_type()
        .fn_type(&[pointer.into(), ticket_type.into()], false);
    let told = builder.build_indirect_call(finished_type, finished, &[slot.into(), ticket.into()], "")?;
    does_not_unwind(context, told);
    builder.build_return(None)?;

    builder.position_at_end(ahead_of_time);
    let unchanged: Vec<_> = parameters.iter().map(|&parameter| parameter.into()).collect();
    become_kernel(Callee::Body, &unchanged)
}

/// Which parameters come in registers on x86_64; what is neither a number nor a pointer may.
fn in_registers(parameters: &[BasicValueEnum<'_>]) -> Vec<bool> {
    let (mut general, mut vector) = (GENERAL_REGISTERS, VECTOR_REGISTERS);
    let is_in_register = |parameter: &BasicValueEnum<'_>| {
        let left = match parameter {
            BasicValueEnum::IntValue(_) | BasicValueEnum::PointerValue(_) => &mut general,
            BasicValueEnum::FloatValue(_) => &mut vector,
            _ => return true,
        };
        let is_left = *left > 0;
        *left = left.saturating_sub(1);
        is_left
    };
    parameters.iter().map(is_in_register).collect()
}

/// What a stub calls.
#[derive(Debug, Clone, Copy)]
enum Callee {
    /// The ahead-of-time body.
    Body,
    /// What the dispatch function chose.
    Code,
}

fn does_not_unwind(context: ContextRef<'_>, call: CallSiteValue<'_>) {
    let nounwind = Attribute::get_named_enum_kind_id("nounwind");
    call.add_attribute(AttributeLoc::Function, context.create_enum_attribute(nounwind, 0));
}
