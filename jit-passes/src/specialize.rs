//! Specialises a kernel to a launch descriptor: the JIT paper's section 4.4.
//!
//! | module | puts in |
//! | --- | --- |
//! | [`arguments`] | the values of scalar arguments |
//! | [`alignment`] | the alignment of pointer arguments |
//! | [`contents`] | what mapped objects hold that the kernel only reads |
//! | [`launch`] | the numbers of teams and threads |
//!
//! Each puts in what the descriptor says at the kernel; [`propagate`](crate::propagate) carries it into the
//! regions.

pub mod alignment;
pub mod arguments;
pub mod contents;
pub mod launch;

use offloom_descriptor::{Argument, Descriptor, Pointer};
use offloom_ir::inkwell::builder::BuilderError;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::symbol::{Symbol, find};

use crate::one_thread::add_one_thread_bodies;
use crate::propagate::propagate;

/// Which parts of a descriptor are made use of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transforms {
    /// Values of scalar arguments, known and expected.
    pub arguments: bool,
    /// Alignment of pointer arguments.
    pub alignment: bool,
    /// Contents of objects behind pointer arguments.
    pub contents: bool,
    /// Numbers of teams and threads.
    pub launch: bool,
}

impl Transforms {
    /// All of them.
    pub const ALL: Self = Self {
        arguments: true,
        alignment: true,
        contents: true,
        launch: true,
    };
    /// None of them.
    pub const NONE: Self = Self {
        arguments: false,
        alignment: false,
        contents: false,
        launch: false,
    };
}

/// Why a kernel cannot be specialised to a descriptor.
#[derive(Debug, thiserror::Error)]
pub enum SpecializeError {
    /// The descriptor is about a kernel of another module.
    #[error("the module does not define the kernel `{0}` of the descriptor")]
    NoSuchKernel(String),
    /// The descriptor has more arguments than the kernel has parameters.
    #[error(
        "the descriptor says something of argument {index}, and `{kernel}` has {count} parameters (the implicit ones \
         included)"
    )]
    NoSuchArgument {
        /// The kernel.
        kernel: String,
        /// Position in the descriptor, from 0.
        index: usize,
        /// How many parameters there are.
        count: u32,
    },
    /// What the descriptor says cannot be said of such a parameter.
    #[error("argument {index} of `{kernel}` is of type {parameter}, and the descriptor has {given} for it")]
    WrongKind {
        /// The kernel.
        kernel: String,
        /// Position, from 0.
        index: usize,
        /// The parameter's type.
        parameter: String,
        /// What the descriptor says.
        given: String,
    },
    /// An instruction could not be built: a mistake of ours, reported instead of a panic.
    #[error("cannot build a direct call of a region's body: {0}")]
    Builder(#[from] BuilderError),
}

/// Specialises the descriptor's kernel, down to the innermost bodies of its regions.
///
/// Everything the descriptor says must hold whenever the code runs. Only what the module makes internal is
/// looked into, so a module should have been pruned to the kernel before.
///
/// # Errors
/// When the descriptor does not fit the kernel; the module may then have been changed in part.
pub fn specialize(
    module: &Module<'_>,
    descriptor: &Descriptor,
    transforms: Transforms,
) -> Result<(), SpecializeError> {
    let kernel = kernel(module, descriptor)?;
    if transforms.arguments {
        arguments::specialize_arguments(module, kernel, descriptor)?;
    }
    if transforms.alignment {
        alignment::specialize_alignment(module, kernel, descriptor)?;
    }
    if transforms.contents {
        contents::specialize_contents(module, kernel, descriptor)?;
    }
    if transforms.launch {
        launch::specialize_launch(module, kernel, descriptor);
    }
    propagate(module);
    if transforms.launch && launch::is_one_team_of_one_thread(module, descriptor) {
        add_one_thread_bodies(module, kernel)?;
    }
    Ok(())
}

/// The pointer arguments that the descriptor says something of, as far as `of` takes that out; `what` names
/// it.
///
/// # Errors
/// When the descriptor says it of something that is no pointer.
fn pointers<'a, T>(
    kernel: FunctionValue<'_>,
    descriptor: &'a Descriptor,
    what: &str,
    of: impl Fn(&'a Pointer) -> Option<T>,
) -> Result<Vec<(u32, T)>, SpecializeError> {
    let mut found = Vec::new();
    for (index, parameter) in kernel.get_param_iter().enumerate() {
        let Argument::Pointer(pointer) = descriptor.argument(index) else {
            continue;
        };
        let Some(said) = of(pointer) else {
            continue;
        };
        if !parameter.is_pointer_value() {
            return Err(SpecializeError::WrongKind {
                kernel: descriptor.kernel.clone(),
                index,
                parameter: parameter.get_type().print_to_string().to_string(),
                given: what.to_owned(),
            });
        }
        found.push((index as u32, said));
    }
    Ok(found)
}

/// The descriptor's kernel in the module.
fn kernel<'ctx>(
    module: &Module<'ctx>,
    descriptor: &Descriptor,
) -> Result<FunctionValue<'ctx>, SpecializeError> {
    let name = &descriptor.kernel;
    let kernel = find(module, name)
        .filter(|kernel| !kernel.is_declaration())
        .and_then(Symbol::as_function)
        .ok_or_else(|| SpecializeError::NoSuchKernel(name.clone()))?;
    let said = descriptor.arguments.iter().rposition(Argument::is_specialized);
    match said {
        Some(index) if index >= kernel.count_params() as usize => Err(SpecializeError::NoSuchArgument {
            kernel: name.clone(),
            index,
            count: kernel.count_params(),
        }),
        _ => Ok(kernel),
    }
}
