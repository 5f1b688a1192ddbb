//! The kernel of a marked function, by the contract of `docs/dev/launch-contract.md`.

use crate::error::PassError;
use crate::markers::Mark;
use crate::offload_device::kernel_form::{self, KernelForm};
use crate::target;
use offloom_ir::LLVM;
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::attributes::{Attribute, AttributeLoc};
use offloom_ir::inkwell::builder::{Builder, BuilderError};
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum};
use offloom_ir::inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, PointerValue};
use offloom_ir::module::store_size;
use offloom_ir::offload_symbol::{AMDGPU_KERNEL, PTX_KERNEL, SPIR_KERNEL};
use offloom_ir::symbol::Symbol;
use offloom_ir::target_kernel::{LaunchLimits, begin_target_kernel, end_target_kernel};

/// Attributes of the function that its kernel has as well: they hold for the code that calls it, or are about
/// the compile.
const INHERITED: [&str; 10] = [
    "convergent",
    "nounwind",
    "null_pointer_is_valid",
    "sanitize_address",
    "sanitize_hwaddress",
    "sanitize_memory",
    "sanitize_thread",
    "sspstrong",
    "strictfp",
    "uwtable",
];

/// Parameter attributes that say that a parameter is passed in memory.
const IN_MEMORY: [&str; 5] = ["byval", "byref", "inalloca", "preallocated", "sret"];

/// Calling conventions of kernels, which no code can call.
const OF_GPU_KERNELS: [u32; 3] = [AMDGPU_KERNEL, PTX_KERNEL, SPIR_KERNEL];

/// Bytes of an argument of a launch.
const ARGUMENT_SIZE: u64 = 8;

/// Makes the kernel called `name` that calls `function`.
pub(super) fn wrap<'ctx>(
    module: &Module<'ctx>,
    form: &KernelForm<'_, 'ctx>,
    name: &str,
    function: FunctionValue<'ctx>,
) -> Result<FunctionValue<'ctx>, PassError> {
    check(module, function)?;
    let limits = kernel_form::limits(function)?;
    let context = module.get_context();
    let pointer: BasicMetadataTypeEnum<'_> = context.ptr_type(AddressSpace::default()).into();
    let word = context.i64_type().into();
    let mut parameters = Vec::new();
    if !takes_list(module) {
        parameters.extend(function.get_param_iter().map(|parameter| match parameter {
            BasicValueEnum::PointerValue(_) => pointer,
            _ => word,
        }));
    }
    // Or the list.
    parameters.insert(launch_environment(parameters.len()), pointer);
    let kernel_type = context.void_type().fn_type(&parameters, false);
    let kernel = module.add_function(name, kernel_type, Some(Linkage::WeakODR));
    add_attributes(module, kernel, function);
    build(module, kernel, function, limits).map_err(|error| PassError::Builder {
        symbol: name.to_owned(),
        problem: error.to_string(),
    })?;
    form.give(kernel, limits);
    Ok(kernel)
}

/// Whether the module's kernels have one parameter, a list of the addresses of their arguments.
fn takes_list(module: &Module<'_>) -> bool {
    LLVM.host_kernels_take_list && !target::is_gpu(module)
}

/// Which parameter of a kernel with so many arguments is the launch environment.
const fn launch_environment(arguments: usize) -> usize {
    if LLVM.launch_environment_is_last {
        arguments
    } else {
        0
    }
}

/// Whether the function can be launched at all.
fn check<'ctx>(module: &Module<'ctx>, function: FunctionValue<'ctx>) -> Result<(), PassError> {
    let symbol = Symbol::from(function);
    let cannot = |problem: String| PassError::NotLaunchable {
        symbol: symbol.name(),
        problem,
    };
    if symbol.is_local() {
        return Err(PassError::LocalKernel {
            symbol: symbol.name(),
            mark: Mark::Kernel.word(),
        });
    }
    if function.get_type().get_return_type().is_some() {
        return Err(cannot(
            "returns a value, which a kernel cannot: write it to mapped memory".to_owned(),
        ));
    }
    if function.get_type().is_var_arg() {
        return Err(cannot("is variadic, which a kernel cannot be".to_owned()));
    }
    if OF_GPU_KERNELS.contains(&function.get_call_conventions()) {
        return Err(cannot(
            "has a GPU kernel's calling convention, and the kernel that is made calls it: give it that of an ordinary function"
                .to_owned(),
        ));
    }
    for (index, parameter) in (0..).zip(function.get_param_iter()) {
        let number = index + 1;
        let in_memory = IN_MEMORY.into_iter().find(|attribute| {
            let kind = Attribute::get_named_enum_kind_id(attribute);
            function
                .get_enum_attribute(AttributeLoc::Param(index), kind)
                .is_some()
        });
        if let Some(attribute) = in_memory {
            return Err(cannot(format!(
                "takes its parameter {number} in memory (`{attribute}`), where a launch does not put it: pass a pointer to mapped memory"
            )));
        }
        if let BasicTypeEnum::ScalableVectorType(_) = parameter.get_type() {
            return Err(cannot(format!(
                "takes a vector whose size only the processor tells as its parameter {number}: pass a pointer to mapped memory"
            )));
        }
        let size = store_size(module, parameter.get_type());
        if size > ARGUMENT_SIZE {
            return Err(cannot(format!(
                "takes {size} bytes as its parameter {number}, and a launch passes at most {ARGUMENT_SIZE}: pass a pointer to mapped memory"
            )));
        }
    }
    Ok(())
}

/// Whether a launch can call a function that has a kernel's name already, and so gets nothing put around it.
pub(super) fn check_final_form(module: &Module<'_>, function: FunctionValue<'_>) -> Result<(), PassError> {
    let cannot = |problem: String| PassError::NotInFinalForm {
        symbol: Symbol::from(function).name(),
        problem,
    };
    if function.get_type().get_return_type().is_some() || function.get_type().is_var_arg() {
        return Err(cannot(
            "returns a value or is variadic, which a kernel cannot".to_owned(),
        ));
    }
    let parameters = function.get_params();
    if takes_list(module) {
        let what = match parameters.as_slice() {
            [BasicValueEnum::PointerValue(_)] => return Ok(()),
            [_] => "its parameter is no pointer".to_owned(),
            other => format!("it has {} parameters", other.len()),
        };
        return Err(cannot(format!(
            "{what}, and a launch passes one: a list of the addresses of its arguments"
        )));
    }
    let implicit = launch_environment(parameters.len().saturating_sub(1));
    if !parameters
        .get(implicit)
        .copied()
        .is_some_and(BasicValueEnum::is_pointer_value)
    {
        let which = if LLVM.launch_environment_is_last {
            "last"
        } else {
            "first"
        };
        return Err(cannot(format!(
            "its {which} parameter is not the implicit pointer that each launch passes"
        )));
    }
    for (number, parameter) in (1..).zip(parameters) {
        let is_word = match parameter.get_type() {
            BasicTypeEnum::PointerType(_) => true,
            BasicTypeEnum::IntType(integer) => u64::from(integer.get_bit_width()) == 8 * ARGUMENT_SIZE,
            _ => false,
        };
        if !is_word {
            return Err(cannot(format!(
                "its parameter {number} is neither a pointer nor an `i64`, which is what a launch passes: take the value from the low \
                 bytes of an `i64`"
            )));
        }
    }
    Ok(())
}

fn add_attributes<'ctx>(module: &Module<'ctx>, kernel: FunctionValue<'ctx>, function: FunctionValue<'ctx>) {
    let context = module.get_context();
    let by_name = |name| context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0);
    let inherited = INHERITED.map(Attribute::get_named_enum_kind_id);
    for attribute in function.attributes(AttributeLoc::Function) {
        let is_inherited = if attribute.is_string() {
            !kernel_form::is_marker_or_limit(&attribute.get_string_kind_id().to_string_lossy())
        } else {
            attribute.is_enum() && inherited.contains(&attribute.get_enum_kind_id())
        };
        if is_inherited {
            kernel.add_attribute(AttributeLoc::Function, attribute);
        }
    }
    let is_gpu = target::is_gpu(module);
    let is_convergent = is_gpu || LLVM.convergent_on_processors;
    let of_target = [
        // What has a list is called by nothing but the runtime.
        ("alwaysinline", is_gpu || !LLVM.host_kernels_take_list),
        ("convergent", is_convergent),
        ("mustprogress", is_gpu),
        ("norecurse", true),
        ("nounwind", is_gpu),
    ];
    let of_target = of_target
        .into_iter()
        .filter_map(|(name, has_it)| has_it.then_some(name));
    for name in of_target {
        kernel.add_attribute(AttributeLoc::Function, by_name(name));
    }
    let implicit = launch_environment(kernel.count_params() as usize - 1);
    kernel.add_attribute(AttributeLoc::Param(implicit as u32), by_name("noalias"));
    for index in 0..kernel.count_params() {
        kernel.add_attribute(AttributeLoc::Param(index), by_name("noundef"));
    }
}

fn build<'ctx>(
    module: &Module<'ctx>,
    kernel: FunctionValue<'ctx>,
    function: FunctionValue<'ctx>,
    limits: LaunchLimits,
) -> Result<(), BuilderError> {
    let context = module.get_context();
    let builder = context.create_builder();
    let entry = context.append_basic_block(kernel, "entry");
    builder.position_at_end(entry);
    let received = if takes_list(module) {
        receive_listed(&builder, kernel, function)?
    } else {
        receive(&builder, kernel, function)?
    };
    let user_code = if target::is_gpu(module) {
        begin_target_kernel(entry, limits).unwrap_or(entry)
    } else {
        entry
    };
    builder.position_at_end(user_code);
    let mut arguments: Vec<BasicMetadataValueEnum<'ctx>> = Vec::new();
    for (parameter, received) in function.get_param_iter().zip(received) {
        arguments.push(received.load(&builder, parameter.get_type())?.into());
    }
    let call = builder.build_call(function, &arguments, "")?;
    call.set_call_convention(function.get_call_conventions());
    for index in 0..function.count_params() {
        for attribute in function.attributes(AttributeLoc::Param(index)) {
            call.add_attribute(AttributeLoc::Param(index), attribute);
        }
    }
    let never_inlined = Attribute::get_named_enum_kind_id("noinline");
    if function
        .get_enum_attribute(AttributeLoc::Function, never_inlined)
        .is_none()
    {
        let inlined = Attribute::get_named_enum_kind_id("alwaysinline");
        call.add_attribute(AttributeLoc::Function, context.create_enum_attribute(inlined, 0));
    }
    if target::is_gpu(module) {
        end_target_kernel(user_code);
        builder.position_at_end(user_code);
    }
    builder.build_return(None)?;
    Ok(())
}

/// The arguments that are the kernel's parameters.
fn receive<'ctx>(
    builder: &Builder<'ctx>,
    kernel: FunctionValue<'ctx>,
    function: FunctionValue<'ctx>,
) -> Result<Vec<Argument<'ctx>>, BuilderError> {
    let mut arguments = kernel.get_params();
    let implicit = arguments.remove(launch_environment(function.count_params() as usize));
    implicit.set_name("dyn_ptr");
    let mut received = Vec::new();
    for (parameter, argument) in function.get_param_iter().zip(arguments) {
        received.push(match argument {
            BasicValueEnum::PointerValue(pointer) => Argument::Pointer(pointer),
            word => Argument::Slot(store_to_slot(builder, word)?),
        });
        argument.set_name(&parameter.get_name().to_string_lossy());
    }
    Ok(received)
}

/// The arguments whose addresses are in the list that is the kernel's parameter; that of the launch
/// environment comes behind them.
fn receive_listed<'ctx>(
    builder: &Builder<'ctx>,
    kernel: FunctionValue<'ctx>,
    function: FunctionValue<'ctx>,
) -> Result<Vec<Argument<'ctx>>, BuilderError> {
    let Some(BasicValueEnum::PointerValue(list)) = kernel.get_first_param() else {
        return Ok(Vec::new());
    };
    list.set_name("arguments");
    let pointer = list.get_type();
    let fields = vec![BasicTypeEnum::from(pointer); function.count_params() as usize + 1];
    let list_type = pointer.get_context().struct_type(&fields, false);
    let mut received = Vec::new();
    for (place, parameter) in (0..).zip(function.get_param_iter()) {
        let place = builder.build_struct_gep(list_type, list, place, "")?;
        let address = builder.build_load(pointer, place, "")?.into_pointer_value();
        received.push(match parameter {
            BasicValueEnum::PointerValue(_) => {
                Argument::Pointer(builder.build_load(pointer, address, "")?.into_pointer_value())
            }
            _ => Argument::Slot(address),
        });
    }
    Ok(received)
}

/// An argument of the launch, as the kernel gets it.
enum Argument<'ctx> {
    Pointer(PointerValue<'ctx>),
    /// A value is in the first bytes of this memory.
    Slot(PointerValue<'ctx>),
}

impl<'ctx> Argument<'ctx> {
    /// The argument as the function's parameter type.
    fn load(
        &self,
        builder: &Builder<'ctx>,
        parameter: BasicTypeEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, BuilderError> {
        match (self, parameter) {
            (Self::Pointer(pointer), BasicTypeEnum::PointerType(wanted)) => {
                if pointer.get_type() == wanted {
                    return Ok((*pointer).into());
                }
                Ok(builder.build_address_space_cast(*pointer, wanted, "")?.into())
            }
            (Self::Slot(slot), BasicTypeEnum::IntType(wanted)) if wanted.get_bit_width() == 1 => {
                let byte_type = wanted.get_context().i8_type();
                let byte = builder.build_load(byte_type, *slot, "")?.into_int_value();
                Ok(builder.build_int_truncate(byte, wanted, "")?.into())
            }
            (Self::Slot(memory) | Self::Pointer(memory), wanted) => builder.build_load(wanted, *memory, ""),
        }
    }
}

/// Stores the value to memory of its own and returns the address, as a pointer of address space 0.
fn store_to_slot<'ctx>(
    builder: &Builder<'ctx>,
    word: BasicValueEnum<'ctx>,
) -> Result<PointerValue<'ctx>, BuilderError> {
    let slot = builder.build_alloca(word.get_type(), "")?;
    let generic = slot.get_type().get_context().ptr_type(AddressSpace::default());
    let address = if slot.get_type() == generic {
        slot
    } else {
        builder.build_address_space_cast(slot, generic, "")?
    };
    builder.build_store(address, word)?;
    Ok(address)
}
