//! Profitability: for each argument of a kernel, whether a constant in its place can make better code, and
//! why.
//!
//! What would become a number is followed from the kernel into the bodies of its regions and the functions
//! they call. A use counts where it is executed over and over, so within a loop; and the bounds of a loop
//! that the runtime splits among teams or threads do not count, since each of them gets its own. For a
//! pointer the same is asked of what the kernel loads from the start of the object behind it, at offsets
//! that are known. On NVIDIA GPUs it is asked too whether accesses become wider once the pointer is known
//! to be aligned.
//!
//! Arguments are looked at together: a product of two extents, by which a collapsed loop divides, is a number
//! where both are.
//!
//! The answer is only advice: it decides whether a variant is worth its compile, never whether it is right.

mod flow;
mod known;
mod neighbours;
mod rules;

use std::collections::HashSet;
use std::fmt;

use offloom_abi::jit_bundle::ParameterUses;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::{BasicValueEnum, FunctionValue, InstructionOpcode};
use offloom_ir::module;
use offloom_ir::symbol::{Symbol, symbols};
use offloom_ir::value_uses::{result, value_uses};

use crate::argument_list::{launch_environment, unpack};
use crate::error::JitPassError;
use crate::object_contents::{KernelMemory, ObjectLoad, PointerSources, expose_loads};
use crate::survey::is_kernel;
use flow::Program;
use known::known_with;

/// What a constant in place of a kernel's arguments is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelProfitability {
    /// The kernel's name.
    pub kernel: String,
    /// For each parameter, the implicit one of the launch environment included.
    pub parameters: Vec<ParameterProfitability>,
    /// Which of them is the launch environment's.
    pub launch_environment: u32,
}

/// What a constant in place of an argument is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterProfitability {
    /// Whether it is a pointer: then the uses are those of the contents of the object behind it, and of its
    /// alignment.
    pub is_pointer: bool,
    /// For a pointer, the bytes from the start of the object behind it of which a constant makes better code,
    /// and which the kernel only reads ([`object_contents`](crate::object_contents)). Past the end: none.
    pub contents: Vec<bool>,
    /// Whether the kernel reads these at every launch.
    pub contents_are_there: bool,
    /// Bytes of the word that the kernel looks at, 1 to 8.
    pub size: u8,
    /// Whether all that looks at the word takes it for a floating-point number.
    pub is_floating: bool,
    /// Uses that a constant, or a pointer's alignment, changes.
    pub uses: ParameterUses,
}

/// Analyses every kernel of a module, which stays as it is: a copy has its local variables promoted. A kernel
/// that has its arguments in a list has a parameter for each, as far as it reads them.
///
/// # Errors
/// When such a kernel cannot be rewritten: a mistake of ours.
pub fn profitability(module: &Module<'_>) -> Result<Vec<KernelProfitability>, JitPassError> {
    let copy = module::copy(module);
    expose_loads(&copy);
    unpack(&copy, |copy| {
        expose_loads(copy);
        Ok(())
    })?;
    let program = Program::of(&copy);
    let sources = PointerSources::of(&copy);
    let kernels = symbols(&copy).into_iter().filter(|&global| is_kernel(global));
    let kernels = kernels.filter_map(Symbol::as_function).map(|function| {
        let memory = KernelMemory::of(&sources, function);
        let launch_environment = launch_environment(&copy, function);
        let kernel = Kernel::new(&program, &memory, function, launch_environment);
        KernelProfitability {
            kernel: Symbol::from(function).name(),
            parameters: (0..)
                .zip(function.get_param_iter())
                .map(|(index, parameter)| kernel.of_parameter(index, parameter))
                .collect(),
            launch_environment,
        }
    });
    Ok(kernels.collect())
}

/// A kernel, and what of it a launch may settle. Arguments may be known together, and decide things together.
struct Kernel<'a, 'ctx> {
    program: &'a Program<'ctx>,
    memory: &'a KernelMemory<'a, 'ctx>,
    launch_environment: u32,
    /// For each parameter, the loads from the object behind it that find the same at every time.
    loads: Vec<Vec<ObjectLoad<'ctx>>>,
    /// What is a number where all scalar arguments are.
    by_scalars: HashSet<BasicValueEnum<'ctx>>,
    /// What is a number where contents are too.
    by_contents: HashSet<BasicValueEnum<'ctx>>,
}

impl<'a, 'ctx> Kernel<'a, 'ctx> {
    fn new(
        program: &'a Program<'ctx>,
        memory: &'a KernelMemory<'a, 'ctx>,
        function: FunctionValue<'ctx>,
        launch_environment: u32,
    ) -> Self {
        let loads_of = |index| match index {
            _ if index == launch_environment => Vec::new(),
            _ => memory.constant_loads(index),
        };
        let loads: Vec<_> = (0..function.count_params()).map(loads_of).collect();
        let is_scalar = |parameter: &BasicValueEnum<'ctx>| !parameter.is_pointer_value();
        let scalars = function.get_param_iter().filter(is_scalar);
        let contents = loads.iter().flatten().filter_map(|load| result(load.instruction));
        let by_scalars = known_with(program, scalars);
        let by_contents = known_with(program, by_scalars.iter().copied().chain(contents));
        Self {
            program,
            memory,
            launch_environment,
            loads,
            by_scalars,
            by_contents,
        }
    }

    /// What may be a number beside a scalar argument. Launches on GPUs do not look at contents.
    fn beside_scalars(&self) -> &HashSet<BasicValueEnum<'ctx>> {
        if self.program.is_for_gpu {
            &self.by_scalars
        } else {
            &self.by_contents
        }
    }

    fn of_parameter(&self, index: u32, parameter: BasicValueEnum<'ctx>) -> ParameterProfitability {
        let program = self.program;
        let is_implicit = index == self.launch_environment;
        let is_pointer = parameter.is_pointer_value();
        let uses = match parameter {
            _ if is_implicit => ParameterUses::NONE,
            BasicValueEnum::PointerValue(object) => {
                let loads = program.loads_from(object);
                let loaded = loads.iter().filter_map(|load| result(load.instruction));
                program.uses(loaded, &self.by_contents)
            }
            scalar => program.uses([scalar], self.beside_scalars()),
        };
        let contents = self.useful_contents(&self.loads[index as usize]);
        ParameterProfitability {
            is_pointer,
            contents_are_there: self.memory.reads_at_launch(index, &contents),
            contents,
            size: used_bytes(program, parameter),
            is_floating: is_floating(program, parameter),
            uses: uses.with(uses_of_alignment(program, is_implicit, parameter)),
        }
    }

    /// Bytes whose loads, as constants, make better code.
    fn useful_contents(&self, loads: &[ObjectLoad<'ctx>]) -> Vec<bool> {
        let mut bytes = Vec::new();
        for load in loads {
            let uses = self.program.uses(result(load.instruction), &self.by_contents);
            if !uses.is_empty() {
                let end = load.offset + load.size;
                bytes.resize(bytes.len().max(end), false);
                bytes[load.offset..end].fill(true);
            }
        }
        bytes
    }
}

fn uses_of_alignment<'ctx>(
    program: &Program<'ctx>,
    is_implicit: bool,
    parameter: BasicValueEnum<'ctx>,
) -> ParameterUses {
    match parameter {
        BasicValueEnum::PointerValue(object) if !is_implicit && program.is_wider_if_aligned(object) => {
            ParameterUses::WIDER_ACCESSES
        }
        _ => ParameterUses::NONE,
    }
}

/// Bytes at the start of an argument word that are looked at, here and in the functions that it is handed to.
fn used_bytes<'ctx>(program: &Program<'ctx>, word: BasicValueEnum<'ctx>) -> u8 {
    // A parameter that nothing uses has to have a size.
    let mut used = 1;
    // A function that hands the word to itself looks at no more of it.
    let mut seen = HashSet::from([word]);
    let mut open = vec![word];
    while let Some(value) = open.pop() {
        let BasicValueEnum::IntValue(number) = value else {
            return 8;
        };
        let whole = number.get_type().get_bit_width().div_ceil(8).min(8) as u8;
        for use_ in value_uses(value) {
            let received = program.receivers(use_.instruction, value);
            if received.is_empty() {
                let bytes = rules::low_bytes(use_.instruction).unwrap_or(whole);
                used = used.max(bytes.min(whole));
            }
            open.extend(received.iter().filter(|&&parameter| seen.insert(parameter)));
        }
    }
    used
}

/// Whether whatever looks at an argument word takes its low bits for a floating-point number, here and in the
/// functions that it is handed to.
fn is_floating<'ctx>(program: &Program<'ctx>, word: BasicValueEnum<'ctx>) -> bool {
    let mut found = false;
    let mut seen = HashSet::from([word]);
    let mut open = vec![word];
    while let Some(value) = open.pop() {
        for use_ in value_uses(value) {
            let received = program.receivers(use_.instruction, value);
            let converted = result(use_.instruction);
            match (use_.instruction.get_opcode(), converted) {
                _ if !received.is_empty() => {
                    open.extend(received.iter().filter(|&&parameter| seen.insert(parameter)));
                }
                (InstructionOpcode::BitCast, Some(BasicValueEnum::FloatValue(_))) => found = true,
                (InstructionOpcode::Trunc, Some(low)) if seen.insert(low) => open.push(low),
                _ => return false,
            }
        }
    }
    found
}

impl fmt::Display for KernelProfitability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.kernel)?;
        let explicit = (0..).zip(&self.parameters);
        for (index, parameter) in explicit.filter(|&(index, _)| index != self.launch_environment) {
            let ParameterProfitability {
                is_pointer,
                ref contents,
                contents_are_there,
                size,
                uses,
                is_floating: _,
            } = *parameter;
            write!(formatter, "  argument {index}, ")?;
            if is_pointer {
                let only_read = contents.iter().filter(|&&byte| byte).count();
                if only_read > 0 {
                    let not_always = if contents_are_there {
                        ""
                    } else {
                        " (not all read at every launch)"
                    };
                    write!(formatter, "{only_read} constant bytes{not_always} of ")?;
                }
                write!(formatter, "contents: ")?;
            } else {
                write!(formatter, "{size} bytes: ")?;
            }
            let names: Vec<_> = uses.without(ParameterUses::WIDER_ACCESSES).names().collect();
            if names.is_empty() {
                write!(formatter, "a constant makes no difference")?;
            } else {
                write!(formatter, "{}", names.join(", "))?;
            }
            for name in uses.both(ParameterUses::WIDER_ACCESSES).names() {
                write!(formatter, "; alignment: {name}")?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}
