//! Loops get the trip counts that they have where arguments have the values that are expected of them.
//!
//! The code stays right for every value: a trip count is given as branch weights, which LLVM's passes take
//! for a guess (they leave short loops as they are instead of making vectors of them). Which trip counts
//! there are is found out in a copy that has the values in it.

use offloom_descriptor::{Argument, Descriptor};
use offloom_ir::inkwell::module::Module;
use offloom_ir::loops::weigh_loops_as_in_copy;

use super::arguments::specialize_arguments;
use super::{SpecializeError, kernel};
use crate::propagate::propagate;

/// Gives the loops of a module the trip counts that follow from the values that the descriptor expects.
///
/// # Errors
/// When a value does not fit the parameter's type.
pub fn expect_trip_counts(module: &Module<'_>, descriptor: &Descriptor) -> Result<(), SpecializeError> {
    let as_if: Vec<Argument> = descriptor
        .arguments
        .iter()
        .map(|argument| match argument {
            Argument::Expected(scalar) => Argument::Value(*scalar),
            _ => Argument::Any,
        })
        .collect();
    if !as_if.iter().any(Argument::is_specialized) {
        return Ok(());
    }
    let as_if = Descriptor {
        arguments: as_if,
        ..Descriptor::unspecialized(&descriptor.kernel, &descriptor.architecture)
    };
    weigh_loops_as_in_copy(module, |copy| {
        specialize_arguments(copy, kernel(copy, &as_if)?, &as_if)?;
        propagate(copy);
        Ok(())
    })
}
