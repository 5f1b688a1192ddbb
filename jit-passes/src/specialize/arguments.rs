//! Scalar arguments become the constants they are launched with.
//!
//! An argument is a word of which the value takes the low bytes; the others are unspecified, so the constant
//! has zeros there. A variable that a region changes is a copy of the argument: that it starts with the
//! constant holds all the same.

use std::num::NonZeroU32;

use offloom_descriptor::{Argument, Descriptor, Scalar};
use offloom_ir::function_arguments::{constant_as, replace_argument};
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::types::BasicTypeEnum;
use offloom_ir::inkwell::values::{BasicValueEnum, FunctionValue};
use offloom_ir::module::store_size;

use super::SpecializeError;

/// Replaces the kernel's scalar parameters whose values the descriptor gives.
///
/// # Errors
/// When a value does not fit the parameter's type.
pub fn specialize_arguments<'ctx>(
    module: &Module<'ctx>,
    kernel: FunctionValue<'ctx>,
    descriptor: &Descriptor,
) -> Result<(), SpecializeError> {
    for (index, parameter) in kernel.get_param_iter().enumerate() {
        let Some(word) = word(descriptor.argument(index)) else {
            continue;
        };
        let constant = constant(module, word, parameter.get_type());
        let constant = constant.ok_or_else(|| SpecializeError::WrongKind {
            kernel: descriptor.kernel.clone(),
            index,
            parameter: parameter.get_type().print_to_string().to_string(),
            given: format!("a value of {} bits", word.bits),
        })?;
        replace_argument(kernel, index as u32, constant);
    }
    Ok(())
}

/// The bits of a value, and their number.
#[derive(Clone, Copy)]
struct Word {
    value: u64,
    bits: u32,
}

fn word(argument: &Argument) -> Option<Word> {
    match argument {
        Argument::Value(scalar) => Some(Word::of(*scalar)),
        Argument::Bytes(bytes) if bytes.len() <= 8 => {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            Some(Word {
                value: u64::from_le_bytes(word),
                bits: bytes.len() as u32 * 8,
            })
        }
        Argument::Bytes(_) | Argument::Any | Argument::Pointer(_) => None,
    }
}

impl Word {
    fn of(scalar: Scalar) -> Self {
        Self {
            value: scalar.bits(),
            bits: scalar.scalar_type().bits(),
        }
    }
}

/// The word as a constant of the parameter's type, which may be wider.
fn constant<'ctx>(
    module: &Module<'ctx>,
    word: Word,
    parameter: BasicTypeEnum<'ctx>,
) -> Option<BasicValueEnum<'ctx>> {
    let bits = match parameter {
        BasicTypeEnum::IntType(integer) => integer.get_bit_width(),
        other => u32::try_from(store_size(module, other)).ok()? * 8,
    };
    // Half an address is none.
    let fits = match parameter {
        BasicTypeEnum::PointerType(_) => word.bits == bits,
        _ => (word.bits..=64).contains(&bits),
    };
    if !fits {
        return None;
    }
    let integer = module
        .get_context()
        .custom_width_int_type(NonZeroU32::new(bits)?)
        .ok()?;
    constant_as(module, integer.const_int(word.value, false).into(), parameter)
}
