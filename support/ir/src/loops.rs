//! Which blocks of a function are in a loop, and which can leave one; how often loops go around.

use std::collections::HashMap;

use inkwell::basic_block::BasicBlock;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};

use crate::module;

unsafe extern "C" {
    fn offloom_ir_loop_blocks(function: LLVMValueRef, blocks: *mut u8);
    fn offloom_ir_number_loop_exits(module: LLVMModuleRef, kind: u32) -> u32;
    fn offloom_ir_loop_repetitions(module: LLVMModuleRef, kind: u32, repetitions: *mut i64);
    fn offloom_ir_weigh_loop_exits(module: LLVMModuleRef, kind: u32, repetitions: *const i64);
}

/// Where a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopPlace {
    /// In no loop.
    Outside,
    /// In a loop, and control stays there.
    Inside,
    /// In a loop, and control may leave it from here.
    Exiting,
}

/// Where each block of a function definition stands.
pub fn loop_places<'ctx>(function: FunctionValue<'ctx>) -> HashMap<BasicBlock<'ctx>, LoopPlace> {
    let blocks: Vec<_> = function.get_basic_block_iter().collect();
    let mut places = vec![0; blocks.len()];
    if !blocks.is_empty() {
        // SAFETY: a live definition, with room for each of its blocks.
        unsafe { offloom_ir_loop_blocks(function.as_value_ref(), places.as_mut_ptr()) }
    }
    let place = |place| match place {
        0 => LoopPlace::Outside,
        1 => LoopPlace::Inside,
        _ => LoopPlace::Exiting,
    };
    blocks.into_iter().zip(places.into_iter().map(place)).collect()
}

/// Gives the loops of a module the branch weights that they have where they go around as often as in a copy
/// of it. `change` puts numbers into the copy and follows them; which loops there are stays as it is. What is
/// then known of the copy's trip counts need not hold of the module: weights are a guess.
///
/// Only loops that are left by one conditional branch, without weights yet, and whose trip count is a number
/// in the copy.
///
/// # Errors
/// What `change` fails with.
pub fn weigh_loops_as_in_copy<'ctx, E>(
    module: &Module<'ctx>,
    change: impl FnOnce(&Module<'ctx>) -> Result<(), E>,
) -> Result<(), E> {
    let kind = module.get_context().get_kind_id("offloom.loop_exit");
    // SAFETY: a live module, and a kind of its context.
    let count = unsafe { offloom_ir_number_loop_exits(module.as_mut_ptr(), kind) };
    let mut repetitions = vec![-1_i64; count as usize];
    let copy = module::copy(module);
    let changed = change(&copy);
    // SAFETY: live modules of one context; the numbers are below `count`, for which there is room. Passes may
    // drop a number, but make none.
    unsafe {
        if changed.is_ok() {
            offloom_ir_loop_repetitions(copy.as_mut_ptr(), kind, repetitions.as_mut_ptr());
        }
        offloom_ir_weigh_loop_exits(module.as_mut_ptr(), kind, repetitions.as_ptr());
    }
    changed
}
