//! Kernels of the host that have their arguments in a list, as Clang makes them since LLVM 23: their one
//! parameter points to the addresses of the arguments, which are words.
//!
//! All else here knows kernels whose parameters are words themselves. So what is prepared is made such a
//! kernel first ([`unpack`]); at the end the base image gets, under the kernel's name, a function that takes
//! the list apart ([`pack`]). The list's last word is that of the launch environment; those in words have it
//! first, so they get one that nothing uses.

use offloom_ir::call_rewriting::{can_be_inlined, inline_call};
use offloom_ir::codegen::run_pipeline;
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::attributes::{Attribute, AttributeLoc};
use offloom_ir::inkwell::builder::Builder;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::targets::TargetMachine;
use offloom_ir::inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use offloom_ir::inkwell::values::{
    BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode, PointerValue,
};
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::pointer_uses::{PointerUse, PointerUseKind, pointer_uses};
use offloom_ir::symbol::{Symbol, find, symbols};

use crate::ahead_of_time;
use crate::error::JitPassError;
use crate::survey::is_kernel;
use crate::take_over::take_over;

/// Bytes of an argument, and of its address.
const WORD: u64 = 8;

/// Longest list: libomptarget's own limit is far below.
const MAX_ARGUMENTS: u64 = 4096;

/// String attribute of a kernel whose parameters were made words of.
const ATTRIBUTE: &str = "offloom-unpacked";

/// Names in the base image: of a kernel with words as parameters, and, while it is made, of its code.
const WORDS: &str = ".words";
const CODE: &str = ".listed";

/// Whether the kernel has its arguments in a list, in a release where such kernels do.
pub(crate) fn has_list(kernel: FunctionValue<'_>) -> bool {
    offloom_ir::LLVM.host_kernels_take_list
        && kernel.count_params() == 1
        && kernel
            .get_string_attribute(AttributeLoc::Function, ATTRIBUTE)
            .is_none()
}

/// Gives each kernel of the module words as parameters, where it is known what it does with its list: reads
/// addresses from it. The names of those that have them now.
///
/// # Errors
/// When a step fails.
pub(crate) fn unpack(
    module: &Module<'_>,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
) -> Result<Vec<String>, JitPassError> {
    let kernels = symbols(module).into_iter().filter(|&symbol| is_kernel(symbol));
    let kernels = kernels.filter_map(Symbol::as_function);
    let kernels: Vec<_> = kernels.filter(|kernel| has_list(*kernel)).collect();
    for kernel in &kernels {
        optimise(*kernel);
    }
    if kernels.iter().any(|kernel| arguments(*kernel).is_none()) {
        // Code that was not optimised keeps the list in a variable.
        run_pipeline(module, machine, errors, "function(sroa)")?;
    }
    let mut unpacked = Vec::new();
    for kernel in kernels {
        if let Some(arguments) = arguments(kernel) {
            let name = Symbol::from(kernel).name();
            unpack_one(module, kernel, &name, &arguments)?;
            unpacked.push(name);
        }
    }
    if !unpacked.is_empty() {
        // The list that was made for the kernel's code, and what is read from it.
        run_pipeline(module, machine, errors, "function(sroa)")?;
    }
    Ok(unpacked)
}

/// Lets LLVM optimise a kernel that was compiled without. Its code is in functions that it calls, mostly.
fn optimise(kernel: FunctionValue<'_>) {
    for attribute in ["optnone", "noinline"].map(Attribute::get_named_enum_kind_id) {
        kernel.remove_enum_attribute(AttributeLoc::Function, attribute);
    }
}

/// What the arguments that the kernel reads are: pointers or integers. `None` if it does anything else with
/// its list.
fn arguments<'ctx>(kernel: FunctionValue<'ctx>) -> Option<Vec<BasicTypeEnum<'ctx>>> {
    let list = kernel.get_first_param()?;
    if !list.is_pointer_value() || !can_be_inlined(kernel) {
        return None;
    }
    let context = kernel.get_type().get_context();
    let mut arguments = Vec::new();
    for place in pointer_uses(list.into_pointer_value()) {
        let PointerUseKind::Load { size: WORD } = place.kind else {
            return None;
        };
        let offset = u64::try_from(place.offset).ok()?;
        if !offset.is_multiple_of(WORD) || offset / WORD >= MAX_ARGUMENTS {
            return None;
        }
        let address = PointerValue::try_from(place.instruction).ok()?;
        let number = (offset / WORD) as usize;
        if arguments.len() <= number {
            arguments.resize(number + 1, context.i64_type().as_basic_type_enum());
        }
        let is_pointer = |found: &PointerUse<'ctx>| {
            found.instruction.get_opcode() == InstructionOpcode::Load
                && found.instruction.get_type().is_pointer_type()
        };
        if pointer_uses(address).iter().any(is_pointer) {
            arguments[number] = context.ptr_type(AddressSpace::default()).into();
        }
    }
    Some(arguments)
}

/// Replaces a kernel by one whose parameters are words, with the same code.
fn unpack_one<'ctx>(
    module: &Module<'ctx>,
    kernel: FunctionValue<'ctx>,
    name: &str,
    arguments: &[BasicTypeEnum<'ctx>],
) -> Result<(), JitPassError> {
    let context = module.get_context();
    let pointer = context.ptr_type(AddressSpace::default());
    let mut parameters: Vec<BasicMetadataTypeEnum<'ctx>> = vec![pointer.into()];
    parameters.extend(
        arguments
            .iter()
            .map(|&argument| BasicMetadataTypeEnum::from(argument)),
    );
    let function_type = context.void_type().fn_type(&parameters, false);
    let words = take_over(module, kernel, function_type, name, &format!("{name}{CODE}"));
    for attribute in kernel.attributes(AttributeLoc::Function) {
        words.add_attribute(AttributeLoc::Function, attribute);
    }
    words.add_attribute(
        AttributeLoc::Function,
        context.create_string_attribute(ATTRIBUTE, ""),
    );
    if let Some(source) = kernel.get_subprogram() {
        words.set_subprogram(source);
    }

    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(words, "entry"));
    let list_type = pointer.array_type(arguments.len() as u32);
    let list = builder.build_alloca(list_type, "arguments")?;
    for (number, parameter) in words.get_param_iter().skip(1).enumerate() {
        let word = builder.build_alloca(context.i64_type(), "argument")?;
        builder.build_store(word, parameter)?;
        builder.build_store(element(module, &builder, list, number)?, word)?;
    }
    let call = builder.build_call(kernel, &[list.into()], "")?;
    builder.build_return(None)?;
    let inlined = inline_call(call);
    let erased = Symbol::from(kernel).erase_if_unused();
    if !(inlined && erased) {
        return Err(JitPassError::Invalid {
            what: "kernel's code",
            reason: format!("`{name}` cannot be inlined"),
        });
    }
    Ok(())
}

/// Gives each of these kernels of the base image a list again: the function under its name calls what has
/// words as parameters.
///
/// # Errors
/// When an instruction cannot be built.
pub(crate) fn pack(module: &Module<'_>, unpacked: &[String]) -> Result<(), JitPassError> {
    let context = module.get_context();
    let pointer = context.ptr_type(AddressSpace::default());
    for name in unpacked {
        let words = find(module, name).and_then(Symbol::as_function);
        let words = words.ok_or_else(|| JitPassError::NoSuchKernel(name.clone()))?;
        let function_type = context.void_type().fn_type(&[pointer.into()], false);
        let kernel = take_over(module, words, function_type, name, &format!("{name}{WORDS}"));
        // A stub of assembly has but few of the kernel's attributes.
        let code = find(module, &ahead_of_time::name_of(name)).and_then(Symbol::as_function);
        let uwtable = Attribute::get_named_enum_kind_id("uwtable");
        let attributes = code
            .unwrap_or(words)
            .attributes(AttributeLoc::Function)
            .into_iter();
        for attribute in attributes.filter(|attribute| {
            attribute.is_string() || (attribute.is_enum() && attribute.get_enum_kind_id() == uwtable)
        }) {
            kernel.add_attribute(AttributeLoc::Function, attribute);
        }

        let builder = context.create_builder();
        builder.position_at_end(context.append_basic_block(kernel, "entry"));
        let Some(list) = kernel.get_first_param().map(BasicValueEnum::into_pointer_value) else {
            continue;
        };
        let mut values = vec![pointer.const_null().into()];
        for (number, parameter) in words.get_param_iter().skip(1).enumerate() {
            let place = element(module, &builder, list, number)?;
            let address = builder.build_load(pointer, place, "address")?;
            let value = builder.build_load(parameter.get_type(), address.into_pointer_value(), "argument")?;
            values.push(value.into());
        }
        let call: CallSiteValue<'_> = builder.build_call(words, &values, "")?;
        call.set_call_convention(words.get_call_conventions());
        call.set_tail_call(true);
        builder.build_return(None)?;
    }
    Ok(())
}

/// The address of a list's element.
fn element<'ctx>(
    module: &Module<'ctx>,
    builder: &Builder<'ctx>,
    list: PointerValue<'ctx>,
    number: usize,
) -> Result<PointerValue<'ctx>, JitPassError> {
    let context = module.get_context();
    let pointer = context.ptr_type(AddressSpace::default());
    // As a structure, so that its elements can be addressed without unchecked arithmetic.
    let fields = vec![BasicTypeEnum::from(pointer); number + 1];
    Ok(builder.build_struct_gep(context.struct_type(&fields, false), list, number as u32, "")?)
}
