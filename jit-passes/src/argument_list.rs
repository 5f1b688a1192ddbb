//! Kernels of the host that have their arguments in a list, as Clang makes them since LLVM 23: their one
//! parameter points to the addresses of the arguments, which are words.
//!
//! All else here knows kernels whose parameters are words themselves. So what is prepared is made such a
//! kernel first ([`unpack`]); at the end the base image gets, under the kernel's name, a function that takes
//! the list apart ([`pack`]). What specialises a kernel without a link does both around its work
//! ([`as_parameters`]). The list's last word is that of the launch environment; those in words have it first,
//! so they get one that nothing uses.

use std::collections::HashSet;

use offloom_descriptor::{Argument, Descriptor};
use offloom_ir::call_rewriting::{can_be_inlined, inline_call};
use offloom_ir::call_sites::{Receivers, all_call_sites, receivers};
use offloom_ir::function_arguments::fold_constants;
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::attributes::{Attribute, AttributeLoc};
use offloom_ir::inkwell::builder::Builder;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum};
use offloom_ir::inkwell::values::{BasicValueEnum, CallSiteValue, FunctionValue, PointerValue};
use offloom_ir::pointer_uses::{PointerUseKind, pointer_uses};
use offloom_ir::symbol::{Symbol, find, symbols};

use crate::ahead_of_time;
use crate::error::JitPassError;
use crate::gpu::is_for_gpu;
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

/// Which of a kernel's parameters, no list among them, is that of the launch environment: in newer releases
/// the last on GPUs; what was unpacked has it first.
pub(crate) fn launch_environment(module: &Module<'_>, kernel: FunctionValue<'_>) -> u32 {
    match is_for_gpu(module) && offloom_ir::LLVM.launch_environment_is_last {
        true => kernel.count_params().saturating_sub(1),
        false => 0,
    }
}

/// Whether the kernel has its arguments in a list, in releases where those of hosts do.
pub(crate) fn has_list(module: &Module<'_>, kernel: FunctionValue<'_>) -> bool {
    offloom_ir::LLVM.host_kernels_take_list
        && !is_for_gpu(module)
        && kernel.count_params() == 1
        && kernel
            .get_string_attribute(AttributeLoc::Function, ATTRIBUTE)
            .is_none()
}

/// Does some work while the descriptor's kernel has parameters where Clang has made a list of arguments: it
/// has its list again afterwards. A kernel that does anything else with its list than to read it keeps it.
///
/// # Errors
/// Those of the work, and when an instruction cannot be built. The module may then have been changed in part.
pub fn as_parameters<T, E: From<JitPassError>>(
    module: &Module<'_>,
    descriptor: &Descriptor,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let kernel = find(module, &descriptor.kernel).filter(|&kernel| is_kernel(kernel));
    let kernels = kernels_with_lists(module, kernel.and_then(Symbol::as_function));
    let promote = |module: &Module<'_>| {
        fold_constants(module);
        Ok(())
    };
    let unpacked = unpack_these(module, kernels, Some(descriptor), promote)?;
    let result = work()?;
    pack(module, &unpacked)?;
    Ok(result)
}

/// Gives each kernel of the module words as parameters, where it is known what it does with its list: reads
/// addresses from it. The names of those that have them now. `promote` makes local variables values.
///
/// # Errors
/// When a step fails.
pub(crate) fn unpack(
    module: &Module<'_>,
    promote: impl Fn(&Module<'_>) -> Result<(), JitPassError>,
) -> Result<Vec<String>, JitPassError> {
    let kernels = symbols(module).into_iter().filter(|&symbol| is_kernel(symbol));
    let kernels = kernels_with_lists(module, kernels.filter_map(Symbol::as_function));
    unpack_these(module, kernels, None, promote)
}

fn kernels_with_lists<'ctx>(
    module: &Module<'ctx>,
    kernels: impl IntoIterator<Item = FunctionValue<'ctx>>,
) -> Vec<FunctionValue<'ctx>> {
    let kernels = kernels.into_iter();
    kernels.filter(|&kernel| has_list(module, kernel)).collect()
}

/// As [`unpack`]. Arguments that the code does not read are what the descriptor says, integers otherwise.
fn unpack_these<'ctx>(
    module: &Module<'ctx>,
    kernels: Vec<FunctionValue<'ctx>>,
    descriptor: Option<&Descriptor>,
    promote: impl Fn(&Module<'_>) -> Result<(), JitPassError>,
) -> Result<Vec<String>, JitPassError> {
    if kernels.is_empty() {
        return Ok(Vec::new());
    }
    for kernel in &kernels {
        optimise(*kernel);
    }
    if kernels.iter().any(|kernel| keeps_variables(*kernel)) {
        // Code that was not optimised keeps the list in a variable, and what is in it.
        promote(module)?;
    }
    let receivers = receivers(&all_call_sites(module));
    let read: Vec<_> = kernels
        .iter()
        .map(|&kernel| arguments(kernel, &receivers))
        .collect();
    let mut unpacked = Vec::new();
    for (kernel, arguments) in kernels.into_iter().zip(read) {
        if let Some(arguments) = arguments {
            let name = Symbol::from(kernel).name();
            unpack_one(module, kernel, &name, &described(module, arguments, descriptor))?;
            unpacked.push(name);
        }
    }
    if !unpacked.is_empty() {
        // The list that was made for the kernel's code, and what is read from it.
        promote(module)?;
    }
    Ok(unpacked)
}

/// A type for each argument, up to the last that is read or that the descriptor says something of.
fn described<'ctx>(
    module: &Module<'ctx>,
    mut read: Vec<Option<BasicTypeEnum<'ctx>>>,
    descriptor: Option<&Descriptor>,
) -> Vec<BasicTypeEnum<'ctx>> {
    let context = module.get_context();
    // Without the launch environment.
    let said = descriptor.map_or(&[][..], |descriptor| {
        descriptor.arguments.get(1..).unwrap_or_default()
    });
    if let Some(last) = said.iter().rposition(Argument::is_specialized)
        && (last as u64) < MAX_ARGUMENTS
    {
        read.resize(read.len().max(last + 1), None);
    }
    let type_of = |(number, read): (usize, Option<BasicTypeEnum<'ctx>>)| match said.get(number) {
        _ if let Some(read) = read => read,
        Some(Argument::Pointer(_)) => context.ptr_type(AddressSpace::default()).into(),
        _ => context.i64_type().into(),
    };
    read.into_iter().enumerate().map(type_of).collect()
}

/// Lets LLVM optimise a kernel that was compiled without. Its code is in functions that it calls, mostly.
fn optimise(kernel: FunctionValue<'_>) {
    for attribute in ["optnone", "noinline"].map(Attribute::get_named_enum_kind_id) {
        kernel.remove_enum_attribute(AttributeLoc::Function, attribute);
    }
}

/// Whether what is loaded from this address is a pointer, here and in the functions that are handed the
/// address; nothing where nobody loads from it.
fn is_pointer_in<'ctx>(
    address: PointerValue<'ctx>,
    receivers: &Receivers<'ctx>,
    seen: &mut HashSet<PointerValue<'ctx>>,
) -> Option<bool> {
    let mut found = None;
    if !seen.insert(address) {
        return found;
    }
    for place in pointer_uses(address) {
        let is_pointer = match place.kind {
            _ if place.offset != 0 => None,
            PointerUseKind::Load { .. } => Some(place.instruction.get_type().is_pointer_type()),
            PointerUseKind::Passed => {
                let received = receivers.get(&(place.instruction, place.pointer));
                let mut received = received.into_iter().flatten();
                received.find_map(|&parameter| is_pointer_in(parameter, receivers, seen))
            }
            _ => None,
        };
        found = found.max(is_pointer);
    }
    found
}

/// Whether the kernel has local variables that hold its list or addresses from it.
fn keeps_variables(kernel: FunctionValue<'_>) -> bool {
    let list = kernel.get_first_param().filter(|list| list.is_pointer_value());
    let is_stored = |pointer: PointerValue<'_>| {
        let mut uses = pointer_uses(pointer).into_iter();
        uses.any(|place| matches!(place.kind, PointerUseKind::Stored))
    };
    list.map(BasicValueEnum::into_pointer_value).is_some_and(|list| {
        let loaded = pointer_uses(list).into_iter();
        let mut loaded = loaded.filter_map(|place| PointerValue::try_from(place.instruction).ok());
        is_stored(list) || loaded.any(is_stored)
    })
}

/// What the arguments that the kernel reads are, pointers or integers; nothing for those that it does not
/// read. `None` if it does anything else with its list.
fn arguments<'ctx>(
    kernel: FunctionValue<'ctx>,
    receivers: &Receivers<'ctx>,
) -> Option<Vec<Option<BasicTypeEnum<'ctx>>>> {
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
            arguments.resize(number + 1, None);
        }
        arguments[number] = match is_pointer_in(address, receivers, &mut HashSet::new()) {
            Some(true) => Some(context.ptr_type(AddressSpace::default()).into()),
            Some(false) => arguments[number].or_else(|| Some(context.i64_type().into())),
            None => arguments[number],
        };
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
    if inlined && erased {
        Ok(())
    } else {
        Err(not_inlined(name))
    }
}

/// Gives each of these kernels a list again: the function under its name calls what has words as parameters
/// where that is a stub, and has its code otherwise.
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
        copy_attributes(code.unwrap_or(words), kernel, code.is_none());

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
        if code.is_none() {
            put_in_place_of(call, words, kernel, name)?;
        }
    }
    Ok(())
}

/// Gives a kernel with a list what another form of it has for attributes: all of them that are its own, or
/// those alone that every function of the source's has.
fn copy_attributes(from: FunctionValue<'_>, kernel: FunctionValue<'_>, all: bool) {
    let uwtable = Attribute::get_named_enum_kind_id("uwtable");
    let attributes = from.attributes(AttributeLoc::Function).into_iter();
    for attribute in attributes.filter(|attribute| {
        all || attribute.is_string() || (attribute.is_enum() && attribute.get_enum_kind_id() == uwtable)
    }) {
        kernel.add_attribute(AttributeLoc::Function, attribute);
    }
    kernel.remove_string_attribute(AttributeLoc::Function, ATTRIBUTE);
}

/// Replaces the call of a kernel with words by its code, and leaves it where it is in the source.
fn put_in_place_of<'ctx>(
    call: CallSiteValue<'ctx>,
    words: FunctionValue<'ctx>,
    kernel: FunctionValue<'ctx>,
    name: &str,
) -> Result<(), JitPassError> {
    let source = words.get_subprogram();
    let inlined = inline_call(call);
    let erased = Symbol::from(words).erase_if_unused();
    if !(inlined && erased) {
        return Err(not_inlined(name));
    }
    if let Some(source) = source {
        kernel.set_subprogram(source);
    }
    Ok(())
}

fn not_inlined(name: &str) -> JitPassError {
    JitPassError::Invalid {
        what: "kernel's code",
        reason: format!("`{name}` cannot be inlined"),
    }
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
