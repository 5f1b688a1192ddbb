//! The half of wrapgen that needs LLVM, in a process of its own.
#![forbid(unsafe_code)]

use offloom_ir::inkwell::context::Context;

fn main() {
    let context = Context::create();
    let module = context.create_module("x");
    offloom_ir::module::erase_named_metadata(&module, "y");
    print!("{}", module.print_to_string());
}
