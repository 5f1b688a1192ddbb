//! For launches of one team of one thread on a CPU: the bodies of a kernel's regions are called directly,
//! where the OpenMP runtime would form a team of the calling thread alone.
//!
//! Forming such a team takes longer than a small kernel. Each call that begins a kernel's outermost region
//! becomes a call of a function that asks the runtime at run time:
//!
//! ```text
//! if (omp_get_max_threads() == 1 && the clause asks for one team, or there is none and omp_get_max_teams() <= 1)
//!   body.one_thread(&thread_number, &zero, what the region captured...);
//! else
//!   __kmpc_push_num_teams(...), __kmpc_fork_teams(..., body, what the region captured...);
//! ```
//!
//! Where the region is all of a kernel, asks for no other number, and a base image offers the kernel's
//! ahead-of-time code, that is called instead: the region's function then need not be compiled at all, which
//! is half of a small kernel's compile.
//!
//! The body is a copy, in which regions within begin as plain calls too, and the runtime's functions are what
//! they come to with one thread ([`runtime_calls`]). What could notice the difference is left alone as a
//! whole: regions within a `parallel` region, which may get more threads; tasks; whatever asks about levels
//! or settings; calls of functions that are not known.
//!
//! | module | does |
//! | --- | --- |
//! | [`body`] | finds out whether a body can be called directly, and makes the copy |
//! | [`runtime_calls`] | what each function of the runtime comes to |
//! | [`guard`] | builds the function that decides |

pub mod body;
pub mod guard;
pub mod runtime_calls;

use std::collections::HashSet;

use offloom_ir::inkwell::basic_block::BasicBlock;
use offloom_ir::inkwell::builder::BuilderError;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::{FunctionValue, InstructionOpcode, InstructionValue};
use offloom_ir::symbol::Symbol;
use offloom_ir::value_uses::{called_function, operand};

use body::{Bodies, Level};
use guard::{Asked, Otherwise};

/// How the names begin of functions that say something of the next region, which the runtime keeps until that
/// begins.
const SAID_BEFORE: &str = "__kmpc_push_";

/// A call that begins a region.
#[derive(Debug, Clone, Copy)]
pub struct Region<'ctx> {
    /// `__kmpc_fork_teams` or `__kmpc_fork_call`.
    pub fork: InstructionValue<'ctx>,
    /// What says how many teams or threads there should be, if something does.
    pub said_before: Option<InstructionValue<'ctx>>,
    /// The function of the region.
    pub body: FunctionValue<'ctx>,
    /// Which kind of region begins.
    pub level: Level,
}

/// Has the kernel's outermost regions begin with a plain call where the runtime would form one team of one
/// thread. How many of them.
///
/// # Errors
/// When an instruction cannot be built, which would be a mistake of ours.
pub fn add_one_thread_bodies<'ctx>(
    module: &Module<'ctx>,
    kernel: FunctionValue<'ctx>,
) -> Result<usize, BuilderError> {
    let mut bodies = Bodies::new(module);
    let mut changed = 0;
    for function in called_outside_regions(kernel) {
        for region in regions(function) {
            let Some(condition) = guard::condition_of(&region) else {
                continue;
            };
            let asked = condition.asked(&region);
            if asked == Asked::More || !Bodies::can_be_called(region.body, region.level) {
                continue;
            }
            let body = bodies.copy(region.body, region.level)?;
            let otherwise = Otherwise::of(module, kernel, &region, asked);
            guard::decide_at_run_time(module, &region, condition, body, otherwise)?;
            changed += 1;
        }
    }
    Ok(changed)
}

/// The kernel, and the module's functions that it calls itself.
fn called_outside_regions(kernel: FunctionValue<'_>) -> Vec<FunctionValue<'_>> {
    let mut seen = HashSet::from([kernel]);
    let mut found = vec![kernel];
    let mut next = 0;
    while let Some(&function) = found.get(next) {
        next += 1;
        for call in calls(function) {
            if let Some(callee) = called_function(call)
                && Symbol::from(callee).is_own_definition()
                && seen.insert(callee)
            {
                found.push(callee);
            }
        }
    }
    found
}

/// The regions that begin in the function; none if it says something of a region that cannot be told which.
fn regions(function: FunctionValue<'_>) -> Vec<Region<'_>> {
    let mut regions = Vec::new();
    let mut said_in_function = 0;
    for block in function.get_basic_blocks() {
        let mut said_before = Vec::new();
        for instruction in block.get_instructions() {
            let Some(name) = called_name(instruction) else {
                continue;
            };
            if name.starts_with(SAID_BEFORE) {
                said_before.push(instruction);
                said_in_function += 1;
            }
            let level = match name.as_str() {
                "__kmpc_fork_teams" => Level::Teams,
                "__kmpc_fork_call" => Level::Parallel,
                _ => continue,
            };
            let said = std::mem::take(&mut said_before);
            said_in_function -= said.len();
            let body = operand(instruction, 2)
                .and_then(Symbol::of_value)
                .and_then(Symbol::as_function);
            if let (Some(body), [] | [_]) = (body, said.as_slice())
                && instruction.get_opcode() == InstructionOpcode::Call
            {
                regions.push(Region {
                    fork: instruction,
                    said_before: said.first().copied(),
                    body,
                    level,
                });
            }
        }
    }
    if said_in_function > 0 {
        return Vec::new();
    }
    regions
}

/// The name of the function that an instruction calls.
pub(super) fn called_name(instruction: InstructionValue<'_>) -> Option<String> {
    Some(Symbol::from(called_function(instruction)?).name())
}

/// The calls in a function.
fn calls(function: FunctionValue<'_>) -> impl Iterator<Item = InstructionValue<'_>> {
    function
        .get_basic_block_iter()
        .flat_map(BasicBlock::get_instructions)
        .filter(|instruction| {
            matches!(
                instruction.get_opcode(),
                InstructionOpcode::Call | InstructionOpcode::Invoke | InstructionOpcode::CallBr
            )
        })
}
