//! What functions of the OpenMP runtime come to in a team of one thread, in a league of one team.
//!
//! As libomp has it for such teams: `kmp_sched.cpp` (a share of a loop is the whole), `kmp_csupport.cpp` (a
//! reduction combines what the one thread has; the one thread is the one of `single` and `master`),
//! `kmp_barrier.cpp` (nobody to wait for).

use offloom_ir::call_rewriting::replace_instruction;
use offloom_ir::inkwell::IntPredicate;
use offloom_ir::inkwell::builder::{Builder, BuilderError};
use offloom_ir::inkwell::context::ContextRef;
use offloom_ir::inkwell::types::IntType;
use offloom_ir::inkwell::values::{BasicValueEnum, InstructionValue, PointerValue};
use offloom_ir::value_uses::{operand, result};

use super::body::Level;

/// What a call comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It stays: it has to do with the thread or the whole program, not with the team.
    Stays,
    /// Nothing.
    Nothing,
    /// A number.
    Number(u32),
    /// The whole of a loop for the one thread.
    WholeLoop {
        /// Bits of the loop's variable.
        bits: u32,
        /// Whether it is signed.
        signed: bool,
    },
    /// A call of the region's function.
    Region,
}

/// What a call of the function comes to; `None` where it would be noticed that no team was formed.
pub fn outcome(function: &str, level: Level) -> Option<Outcome> {
    let whole_loop = |bits, signed| Outcome::WholeLoop { bits, signed };
    let outcome = match (function, level) {
        ("__kmpc_fork_call", Level::Teams) => Outcome::Region,
        ("__kmpc_push_num_threads", Level::Teams) => Outcome::Nothing,
        ("__kmpc_for_static_init_4", _) => whole_loop(32, true),
        ("__kmpc_for_static_init_4u", _) => whole_loop(32, false),
        ("__kmpc_for_static_init_8", _) => whole_loop(64, true),
        ("__kmpc_for_static_init_8u", _) => whole_loop(64, false),
        ("__kmpc_for_static_fini", _) | ("__kmpc_barrier", Level::Parallel) => Outcome::Nothing,
        ("__kmpc_reduce" | "__kmpc_reduce_nowait", _) => Outcome::Number(1),
        ("__kmpc_end_reduce" | "__kmpc_end_reduce_nowait", _) => Outcome::Nothing,
        ("__kmpc_single" | "__kmpc_master", Level::Parallel) => Outcome::Number(1),
        ("__kmpc_end_single" | "__kmpc_end_master", Level::Parallel) => Outcome::Nothing,
        ("omp_get_thread_num" | "omp_get_team_num", _) => Outcome::Number(0),
        ("omp_get_num_threads" | "omp_get_num_teams", _) => Outcome::Number(1),
        (
            "__kmpc_global_thread_num"
            | "__kmpc_critical"
            | "__kmpc_critical_with_hint"
            | "__kmpc_end_critical"
            | "__kmpc_flush"
            | "omp_get_wtime"
            | "omp_get_wtick"
            | "omp_is_initial_device",
            _,
        ) => Outcome::Stays,
        _ => return None,
    };
    Some(outcome)
}

/// Whether the call has the operands that the outcome is made from.
pub fn fits(call: InstructionValue<'_>, outcome: Outcome) -> bool {
    match outcome {
        Outcome::WholeLoop { bits, .. } => LoopCall::of(call, bits).is_some(),
        Outcome::Number(_) => matches!(result(call), Some(BasicValueEnum::IntValue(_))),
        Outcome::Nothing => result(call).is_none(),
        Outcome::Stays | Outcome::Region => true,
    }
}

/// Replaces the call by a number, nothing, or a loop's bounds.
///
/// # Errors
/// When an instruction cannot be built.
pub fn replace<'ctx>(
    context: ContextRef<'ctx>,
    call: InstructionValue<'ctx>,
    outcome: Outcome,
) -> Result<(), BuilderError> {
    match outcome {
        Outcome::Stays | Outcome::Region => {}
        Outcome::Nothing => {
            replace_instruction(call, None);
        }
        Outcome::Number(number) => {
            if let Some(BasicValueEnum::IntValue(value)) = result(call) {
                let number = value.get_type().const_int(u64::from(number), false);
                replace_instruction(call, Some(number.into()));
            }
        }
        Outcome::WholeLoop { bits, signed } => {
            if let Some(loop_call) = LoopCall::of(call, bits) {
                loop_call.build(context, call, signed)?;
                replace_instruction(call, None);
            }
        }
    }
    Ok(())
}

/// The operands of `__kmpc_for_static_init_*(location, thread, schedule, is last, lower, upper, stride,
/// increment, chunk)`.
struct LoopCall<'ctx> {
    variable: IntType<'ctx>,
    is_last: PointerValue<'ctx>,
    lower: PointerValue<'ctx>,
    upper: PointerValue<'ctx>,
    stride: PointerValue<'ctx>,
    increment: offloom_ir::inkwell::values::IntValue<'ctx>,
}

impl<'ctx> LoopCall<'ctx> {
    fn of(call: InstructionValue<'ctx>, bits: u32) -> Option<Self> {
        let pointer = |index| match operand(call, index) {
            Some(BasicValueEnum::PointerValue(pointer)) => Some(pointer),
            _ => None,
        };
        let Some(BasicValueEnum::IntValue(increment)) = operand(call, 7) else {
            return None;
        };
        let is_last = pointer(3)?;
        (increment.get_type().get_bit_width() == bits && !is_last.is_null()).then_some(Self {
            variable: increment.get_type(),
            is_last,
            lower: pointer(4)?,
            upper: pointer(5)?,
            stride: pointer(6)?,
            increment,
        })
    }

    /// The bounds stay; the stride leads past the end; the share is the last one if it is not empty.
    fn build(
        &self,
        context: ContextRef<'ctx>,
        call: InstructionValue<'ctx>,
        signed: bool,
    ) -> Result<(), BuilderError> {
        let builder: Builder<'ctx> = context.create_builder();
        builder.position_before(&call);
        let lower = builder
            .build_load(self.variable, self.lower, "lower")?
            .into_int_value();
        let upper = builder
            .build_load(self.variable, self.upper, "upper")?
            .into_int_value();
        let zero = self.variable.const_zero();
        let one = self.variable.const_int(1, false);
        let forward = builder.build_int_compare(IntPredicate::SGT, self.increment, zero, "forward")?;
        let least = if signed {
            IntPredicate::SLE
        } else {
            IntPredicate::ULE
        };
        let up = builder.build_int_compare(least, lower, upper, "up")?;
        let down = builder.build_int_compare(least, upper, lower, "down")?;
        let any = builder.build_select(forward, up, down, "any")?.into_int_value();
        let distance = builder.build_int_sub(upper, lower, "distance")?;
        let longer = builder.build_int_add(distance, one, "longer")?;
        let shorter = builder.build_int_sub(distance, one, "shorter")?;
        let whole = builder.build_select(forward, longer, shorter, "whole")?;
        let stride = builder.build_select(any, whole, self.increment.into(), "stride")?;
        let is_last = builder.build_int_z_extend(any, context.i32_type(), "is_last")?;
        builder.build_store(self.stride, stride)?;
        builder.build_store(self.is_last, is_last)?;
        Ok(())
    }
}
