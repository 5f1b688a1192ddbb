//! Every test of `offloom-ir` in one program, so that the cost of linking libLLVM is paid once.

use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::memory_buffer::MemoryBuffer;
use offloom_ir::inkwell::module::Module;

mod code_memory;
mod command_line;
mod conditional_divisions;
mod counted_loops;
mod disjoint;
mod distribution;
mod divisions;
mod generic_addresses;
mod hidden_operands;
mod jit;
mod kept_bits;
mod masked_loads;
mod metadata;
mod module;
mod narrow_divisions;
mod nested_regions;
mod observed_addresses;
mod pipelines;
mod processor;
mod region_starts;
mod straight_line_vectors;
mod symbol;
mod this_machine;
mod unused_cases;
mod used;
mod wide_sums;

/// A module from its text.
#[expect(clippy::unwrap_used, reason = "a test whose IR does not parse has failed")]
fn parse<'ctx>(context: &'ctx Context, text: &str) -> Module<'ctx> {
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
    context.create_module_from_ir(buffer).unwrap()
}
