//! Gives each kernel of the base image a stub under its name, and a slot that decides what the stub runs.
//!
//! The records and the protocol are those of [`offloom_abi::jit_image`]. A stub is three functions, of which
//! each jumps to code or to the next, with all arguments where they are: that under the kernel's name looks
//! at the first key of the [inline cache](inline_cache), one at the other keys, and one asks the runtime.
//! Only the first is the kernel's own: the others are shared by kernels of as many parameters, and find in a
//! register which slot it is about. So a kernel more costs a link little. The first two are assembly for
//! x86_64, and [IR](in_ir) for other processors.

mod in_ir;
mod inline_cache;

use std::mem::offset_of;

use offloom_abi::jit_image::{INLINE_CACHE_PARAMETERS, Slot};
use offloom_abi::{HostProcessor, Triple};
use offloom_ir::inkwell::attributes::{Attribute, AttributeLoc};
use offloom_ir::inkwell::builder::Builder;
use offloom_ir::inkwell::context::ContextRef;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum, PointerType, StructType};
use offloom_ir::inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, CallSiteValue, FunctionValue, GlobalValue, IntValue,
    PointerValue, StructValue,
};
use offloom_ir::inkwell::{AddressSpace, AtomicOrdering, IntPredicate};
use offloom_ir::symbol::{Symbol, find};
use offloom_ir::used::{UsedList, set_used, used};

use crate::ahead_of_time;
use crate::error::JitPassError;
use crate::take_over::take_over;

/// Name of the internal variable that holds the slots, one after the other.
pub const SLOTS: &str = "offloom.jit.slots";

/// Attributes that hold for the kernel's code but not for a stub, which writes memory of its own and calls
/// the runtime.
const NOT_OF_STUBS: [&str; 7] = [
    "memory",
    "norecurse",
    "nosync",
    "nofree",
    "willreturn",
    "speculatable",
    "nocallback",
];

/// Names of the functions that stubs share; LLVM adds a number where there are several.
const OTHER_KEYS: &str = "offloom.jit.other_keys";
const LOOK_UP: &str = "offloom.jit.look_up";

/// What fills a slot up to its size.
const SLOT_PADDING: u32 = (size_of::<Slot>() - offset_of!(Slot, argument_count) - size_of::<u32>()) as u32;

/// The fields of a slot that stubs read, and how many pointers come before its numbers.
const DISPATCH: u32 = behind_pointers(offset_of!(Slot, dispatch));
const FINISHED: u32 = behind_pointers(offset_of!(Slot, finished));
const AHEAD_OF_TIME: u32 = behind_pointers(offset_of!(Slot, ahead_of_time));
const POINTERS: u32 = behind_pointers(offset_of!(Slot, kernel));

/// The number of a field, by its offset, that has none but pointers before it.
const fn behind_pointers(offset: usize) -> u32 {
    (offset / size_of::<*const ()>()) as u32
}

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
    // An array in memory; a structure in IR, so that its elements can be addressed without unchecked
    // arithmetic.
    let slots_type = context.struct_type(&vec![slot_type.into(); kernels.len()], false);
    let slots = module.add_global(slots_type, None, SLOTS);
    slots.set_linkage(Linkage::Internal);
    slots.set_alignment(64);
    let builder = context.create_builder();
    let triple = module.get_triple();
    let processor = Triple(&triple.as_str().to_string_lossy()).host_processor();
    let processor = processor.unwrap_or(HostProcessor::NATIVE);
    let mut shared = Vec::new();
    let mut initial = Vec::new();
    for (index, name) in kernels.iter().enumerate() {
        let body = find(module, name).and_then(Symbol::as_function);
        let body = body.ok_or_else(|| JitPassError::NoSuchKernel(name.clone()))?;
        let stub = replace_by_stub(module, body, name);
        initial.push(initial_slot(module, slot_type, body, index as u32));
        let parts = StubBuilder {
            module,
            context,
            builder: &builder,
            slots: slots.as_pointer_value(),
            slot_type,
            processor,
            index: index as u32,
            body,
        };
        parts.build(stub, &mut shared)?;
    }
    let initial: Vec<_> = initial.into_iter().map(Into::into).collect();
    slots.set_initializer(&slots_type.const_named_struct(&initial));
    Ok(slots)
}

/// [`Slot`] in IR.
fn slot_type(context: ContextRef<'_>) -> StructType<'_> {
    let pointer = context.ptr_type(AddressSpace::default()).into();
    let int = BasicTypeEnum::from(context.i32_type());
    let padding = context.i8_type().array_type(SLOT_PADDING).into();
    let mut fields: Vec<BasicTypeEnum<'_>> = vec![pointer; POINTERS as usize];
    fields.extend([int, int, padding]);
    context.struct_type(&fields, false)
}

fn initial_slot<'ctx>(
    module: &Module<'ctx>,
    slot_type: StructType<'ctx>,
    body: FunctionValue<'ctx>,
    index: u32,
) -> StructValue<'ctx> {
    let context = module.get_context();
    let null = context.ptr_type(AddressSpace::default()).const_null();
    let pointers = (0..POINTERS).map(|field| match field {
        AHEAD_OF_TIME => body.as_global_value().as_pointer_value(),
        _ => null,
    });
    let mut fields: Vec<BasicValueEnum<'ctx>> = pointers.map(Into::into).collect();
    fields.extend([
        context.i32_type().const_int(u64::from(index), false).into(),
        context
            .i32_type()
            .const_int(u64::from(body.count_params()), false)
            .into(),
        BasicValueEnum::from(context.i8_type().array_type(SLOT_PADDING).const_zero()),
    ]);
    slot_type.const_named_struct(&fields)
}

/// Moves the kernel's code to a body of its own and declares a function that takes over its name, uses and
/// promises.
fn replace_by_stub<'ctx>(
    module: &Module<'ctx>,
    body: FunctionValue<'ctx>,
    name: &str,
) -> FunctionValue<'ctx> {
    // Clang's unoptimised kernels carry it, and it excludes `noinline`.
    body.remove_enum_attribute(
        AttributeLoc::Function,
        Attribute::get_named_enum_kind_id("alwaysinline"),
    );
    let stub = take_over(module, body, body.get_type(), name, &ahead_of_time::name_of(name));
    copy_parameter_attributes(body, stub);
    // Two copies of a kernel's code are of no use, and a stub must stay small.
    let noinline = Attribute::get_named_enum_kind_id("noinline");
    body.add_attribute(
        AttributeLoc::Function,
        module.get_context().create_enum_attribute(noinline, 0),
    );
    stub
}

fn copy_parameter_attributes(from: FunctionValue<'_>, to: FunctionValue<'_>) {
    for location in (0..from.count_params()).map(AttributeLoc::Param) {
        for attribute in from.attributes(location) {
            to.add_attribute(location, attribute);
        }
    }
}

/// The functions that kernels of so many parameters share, which are words, as all of a kernel's are, and
/// have the same attributes: those say, for instance, which processor the code is for.
struct SharedPart<'ctx> {
    parameters: usize,
    attributes: Vec<Attribute>,
    /// What looks at the other keys; none where no inline cache has so many parameters.
    other_keys: Option<FunctionValue<'ctx>>,
    /// What asks the runtime.
    look_up: FunctionValue<'ctx>,
}

/// Builds the functions of one kernel's stub.
struct StubBuilder<'a, 'ctx> {
    module: &'a Module<'ctx>,
    context: ContextRef<'ctx>,
    builder: &'a Builder<'ctx>,
    slots: PointerValue<'ctx>,
    slot_type: StructType<'ctx>,
    processor: &'static HostProcessor,
    /// The number of its slot.
    index: u32,
    /// The kernel's ahead-of-time code.
    body: FunctionValue<'ctx>,
}

impl<'ctx> StubBuilder<'_, 'ctx> {
    /// All of it, that under the kernel's name being `stub`.
    fn build(
        &self,
        stub: FunctionValue<'ctx>,
        shared: &mut Vec<SharedPart<'ctx>>,
    ) -> Result<(), JitPassError> {
        let attributes = self.attributes_of_stubs();
        let parameters = self.body.count_params() as usize;
        let is_same =
            |part: &&SharedPart<'ctx>| part.parameters == parameters && part.attributes == attributes;
        let (other_keys, look_up) = match shared.iter().find(is_same) {
            Some(part) => (part.other_keys, part.look_up),
            None => {
                let look_up = self.add_look_up(&attributes)?;
                let other_keys = (parameters <= INLINE_CACHE_PARAMETERS)
                    .then(|| self.add_other_keys(parameters, look_up, &attributes))
                    .transpose()?;
                shared.push(SharedPart {
                    parameters,
                    attributes: attributes.clone(),
                    other_keys,
                    look_up,
                });
                (other_keys, look_up)
            }
        };
        if !self.has_assembly() {
            add_attributes(stub, &attributes);
            return match other_keys {
                Some(other_keys) => self.build_first_key(stub, other_keys, look_up),
                None => self.build_no_key(stub, look_up),
            };
        }
        let (assembly, next) = match other_keys {
            Some(other_keys) => (inline_cache::first_key(parameters, self.index), other_keys),
            None => (inline_cache::no_key(self.index), look_up),
        };
        self.build_of_assembly(stub, assembly, &[self.slots, address(next), address(look_up)])
    }

    /// Whether there is assembly for the processor, which is shorter than what is compiled from IR.
    fn has_assembly(&self) -> bool {
        self.processor.name == "x86_64"
    }

    /// What of the kernel's attributes holds for what asks the runtime, too.
    fn attributes_of_stubs(&self) -> Vec<Attribute> {
        let kinds = NOT_OF_STUBS.map(Attribute::get_named_enum_kind_id);
        let holds =
            |attribute: &Attribute| !(attribute.is_enum() && kinds.contains(&attribute.get_enum_kind_id()));
        let all = self.body.attributes(AttributeLoc::Function);
        all.into_iter().filter(holds).collect()
    }

    fn add_other_keys(
        &self,
        parameters: usize,
        look_up: FunctionValue<'ctx>,
        attributes: &[Attribute],
    ) -> Result<FunctionValue<'ctx>, JitPassError> {
        if !self.has_assembly() {
            let function = self.add_function_with_slot(OTHER_KEYS, attributes);
            self.build_other_keys(function, look_up)?;
            return Ok(function);
        }
        let function_type = self.context.void_type().fn_type(&[], false);
        let function = self
            .module
            .add_function(OTHER_KEYS, function_type, Some(Linkage::Internal));
        self.build_of_assembly(
            function,
            inline_cache::other_keys(parameters),
            &[address(look_up)],
        )?;
        Ok(function)
    }

    fn add_look_up(&self, attributes: &[Attribute]) -> Result<FunctionValue<'ctx>, JitPassError> {
        let function = self.add_function_with_slot(LOOK_UP, attributes);
        self.build_look_up(function)?;
        Ok(function)
    }

    /// A function that has the slot and the kernel's arguments, all as words.
    fn add_function_with_slot(&self, name: &str, attributes: &[Attribute]) -> FunctionValue<'ctx> {
        let mut parameters: Vec<BasicMetadataTypeEnum<'ctx>> = vec![self.pointer().into()];
        parameters.extend(self.words());
        let function_type = self.context.void_type().fn_type(&parameters, false);
        let function = self
            .module
            .add_function(name, function_type, Some(Linkage::Internal));
        function.set_call_conventions(self.body.get_call_conventions());
        add_attributes(function, attributes);
        self.pass_slot_apart(|location, attribute| function.add_attribute(location, attribute));
        if !self.has_assembly() {
            // Of a function that is only called, LLVM takes the slot's own register away.
            let mut kept = used(self.module, UsedList::CompilerUsed);
            kept.push(Symbol::from(function));
            set_used(self.module, UsedList::CompilerUsed, &kept);
        }
        function
    }

    /// Has the slot, the first argument, in a register that holds no other: on x86_64 r10, as the assembly
    /// has it.
    fn pass_slot_apart(&self, add: impl FnOnce(AttributeLoc, Attribute)) {
        let nest = Attribute::get_named_enum_kind_id("nest");
        add(
            AttributeLoc::Param(0),
            self.context.create_enum_attribute(nest, 0),
        );
    }

    /// The types of the kernel's parameters, as words.
    fn words(&self) -> Vec<BasicMetadataTypeEnum<'ctx>> {
        vec![self.context.i64_type().into(); self.body.count_params() as usize]
    }

    /// A function that is nothing but assembly, of which `operands` are addresses.
    fn build_of_assembly(
        &self,
        function: FunctionValue<'ctx>,
        assembly: String,
        operands: &[PointerValue<'ctx>],
    ) -> Result<(), JitPassError> {
        for name in ["naked", "noinline", "nounwind"] {
            let attribute = Attribute::get_named_enum_kind_id(name);
            let attribute = self.context.create_enum_attribute(attribute, 0);
            function.add_attribute(AttributeLoc::Function, attribute);
        }
        // The return address stays where it is at the entry: tables that say so need no directives.
        let tables = Attribute::get_named_enum_kind_id("uwtable");
        if let Some(tables) = self.body.get_enum_attribute(AttributeLoc::Function, tables) {
            function.add_attribute(AttributeLoc::Function, tables);
        }
        let entry = self.context.append_basic_block(function, "entry");
        self.builder.position_at_end(entry);
        let types = vec![self.pointer().into(); operands.len()];
        let assembly_type = self.context.void_type().fn_type(&types, false);
        let constraints = vec!["i"; operands.len()].join(",");
        let assembly =
            self.context
                .create_inline_asm(assembly_type, assembly, constraints, true, false, None, false);
        let operands: Vec<_> = operands.iter().map(|&operand| operand.into()).collect();
        self.builder
            .build_indirect_call(assembly_type, assembly, &operands, "")?;
        self.builder.build_unreachable()?;
        Ok(())
    }

    /// What asks the runtime: its first parameter is the slot, the others are the kernel's.
    fn build_look_up(&self, look_up: FunctionValue<'ctx>) -> Result<(), JitPassError> {
        let builder = self.builder;
        let (pointer, ticket_type) = (self.pointer(), self.context.i64_type());
        let all = look_up.get_params();
        let Some((slot, parameters)) = all.split_first() else {
            return Ok(());
        };
        let slot = slot.into_pointer_value();
        let words: Vec<_> = parameters.iter().map(BasicValueEnum::get_type).collect();
        let words_type = self.context.struct_type(&words, false);
        let block = |name| self.context.append_basic_block(look_up, name);
        let entry = block("entry");
        let ask = block("ask");
        let chosen = block("chosen");
        let declined = block("declined");
        let kept = block("kept");
        let timed = block("timed");
        let left = block("left");
        let observed = block("observed");
        let finish = block("finish");
        let ahead_of_time = block("ahead_of_time");

        builder.position_at_end(entry);
        let arguments = builder.build_alloca(words_type, "arguments")?;
        let dispatch = self.pointer_in(self.slot_type, slot, DISPATCH, "dispatch")?;
        let empty = builder.build_is_null(dispatch, "empty")?;
        builder.build_conditional_branch(empty, ahead_of_time, ask)?;

        builder.position_at_end(ask);
        for (index, parameter) in parameters.iter().enumerate() {
            let word = builder.build_struct_gep(words_type, arguments, index as u32, "argument")?;
            builder.build_store(word, *parameter)?;
        }
        let choice_type = self
            .context
            .struct_type(&[pointer.into(), ticket_type.into()], false);
        let dispatch_type = choice_type.fn_type(&[pointer.into(), pointer.into()], false);
        let asked = builder.build_indirect_call(
            dispatch_type,
            dispatch,
            &[slot.into(), arguments.into()],
            "choice",
        )?;
        does_not_unwind(self.context, asked);
        let choice = asked
            .try_as_basic_value()
            .basic()
            .map_or_else(|| choice_type.const_zero(), BasicValueEnum::into_struct_value);
        let code = builder
            .build_extract_value(choice, 0, "code")?
            .into_pointer_value();
        let ticket = builder.build_extract_value(choice, 1, "ticket")?.into_int_value();
        let unobserved = self.is_zero(ticket)?;
        let none = builder.build_is_null(code, "none")?;
        builder.build_conditional_branch(none, declined, chosen)?;

        builder.position_at_end(chosen);
        builder.build_conditional_branch(unobserved, kept, timed)?;

        // From the words, so that no registers are saved for them; what is on the stack is still there.
        let read_back = || -> Result<Vec<BasicValueEnum<'ctx>>, JitPassError> {
            let all = parameters.iter().enumerate();
            let read = all.map(|(index, parameter)| {
                if index >= self.processor.argument_registers {
                    return Ok(*parameter);
                }
                let word = builder.build_struct_gep(words_type, arguments, index as u32, "")?;
                Ok(builder.build_load(parameter.get_type(), word, "")?)
            });
            read.collect()
        };

        builder.position_at_end(kept);
        self.become_kernel(code, &read_back()?)?;

        builder.position_at_end(timed);
        self.call_kernel(code, &read_back()?)?;
        builder.build_unconditional_branch(finish)?;

        builder.position_at_end(declined);
        builder.build_conditional_branch(unobserved, left, observed)?;

        builder.position_at_end(left);
        let body = self.body_of_slot(slot)?;
        self.become_kernel(body, &read_back()?)?;

        builder.position_at_end(observed);
        let body = self.body_of_slot(slot)?;
        self.call_kernel(body, &read_back()?)?;
        builder.build_unconditional_branch(finish)?;

        builder.position_at_end(finish);
        let finished = self.pointer_in(self.slot_type, slot, FINISHED, "finished")?;
        let finished_type = self
            .context
            .void_type()
            .fn_type(&[pointer.into(), ticket_type.into()], false);
        let told = builder.build_indirect_call(finished_type, finished, &[slot.into(), ticket.into()], "")?;
        does_not_unwind(self.context, told);
        builder.build_return(None)?;

        builder.position_at_end(ahead_of_time);
        let body = self.body_of_slot(slot)?;
        self.become_kernel(body, parameters)
    }

    fn pointer(&self) -> PointerType<'ctx> {
        self.context.ptr_type(AddressSpace::default())
    }

    /// The kernel's ahead-of-time code, which the link has written.
    fn body_of_slot(&self, slot: PointerValue<'ctx>) -> Result<PointerValue<'ctx>, JitPassError> {
        let address = self
            .builder
            .build_struct_gep(self.slot_type, slot, AHEAD_OF_TIME, "")?;
        let body = self.builder.build_load(self.pointer(), address, "body")?;
        Ok(body.into_pointer_value())
    }

    /// A pointer that is a field of a record, as what stored it left memory: what it leads to was stored
    /// before it, and the runtime's state too.
    fn pointer_in(
        &self,
        record: StructType<'ctx>,
        place: PointerValue<'ctx>,
        field: u32,
        name: &str,
    ) -> Result<PointerValue<'ctx>, JitPassError> {
        let address = self.builder.build_struct_gep(record, place, field, "")?;
        self.load_pointer(address, AtomicOrdering::Acquire, name)
    }

    /// A pointer that another thread may be storing.
    fn load_pointer(
        &self,
        address: PointerValue<'ctx>,
        ordering: AtomicOrdering,
        name: &str,
    ) -> Result<PointerValue<'ctx>, JitPassError> {
        let loaded = self
            .builder
            .build_load(self.pointer(), address, name)?
            .into_pointer_value();
        if let Some(load) = loaded.as_instruction_value() {
            // A load takes any ordering but release, and eight is a power of two.
            let _ = load.set_atomic_ordering(ordering);
            let _ = load.set_alignment(8);
        }
        Ok(loaded)
    }

    fn is_zero(&self, value: IntValue<'ctx>) -> Result<IntValue<'ctx>, JitPassError> {
        let zero = value.get_type().const_zero();
        Ok(self
            .builder
            .build_int_compare(IntPredicate::EQ, value, zero, "")?)
    }

    fn call_kernel(
        &self,
        code: PointerValue<'ctx>,
        arguments: &[BasicValueEnum<'ctx>],
    ) -> Result<CallSiteValue<'ctx>, JitPassError> {
        let arguments: Vec<BasicMetadataValueEnum<'ctx>> =
            arguments.iter().map(|&argument| argument.into()).collect();
        let kernel_type = self.context.void_type().fn_type(&self.words(), false);
        let call = self
            .builder
            .build_indirect_call(kernel_type, code, &arguments, "")?;
        call.set_call_convention(self.body.get_call_conventions());
        Ok(call)
    }

    /// What is called does not see the stub's own memory, so the call may be a jump: the stub then leaves no
    /// frame behind, and no argument on the stack is moved.
    fn become_kernel(
        &self,
        code: PointerValue<'ctx>,
        arguments: &[BasicValueEnum<'ctx>],
    ) -> Result<(), JitPassError> {
        self.call_kernel(code, arguments)?.set_tail_call(true);
        self.builder.build_return(None)?;
        Ok(())
    }
}

fn add_attributes(function: FunctionValue<'_>, attributes: &[Attribute]) {
    for attribute in attributes {
        function.add_attribute(AttributeLoc::Function, *attribute);
    }
}

fn address(function: FunctionValue<'_>) -> PointerValue<'_> {
    function.as_global_value().as_pointer_value()
}

fn does_not_unwind(context: ContextRef<'_>, call: CallSiteValue<'_>) {
    let nounwind = Attribute::get_named_enum_kind_id("nounwind");
    call.add_attribute(AttributeLoc::Function, context.create_enum_attribute(nounwind, 0));
}
