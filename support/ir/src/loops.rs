//! Which blocks of a function are in a loop, and which can leave one.

use std::collections::HashMap;

use inkwell::basic_block::BasicBlock;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::{AsValueRef, FunctionValue};

unsafe extern "C" {
    fn offloom_ir_loop_blocks(function: LLVMValueRef, blocks: *mut u8);
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
