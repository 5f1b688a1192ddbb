//! Whole-module operations.

use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::memory_buffer::MemoryBuffer;

#[test]
fn named_metadata_is_erased_by_name_only() {
    let context = Context::create();
    let text = b"!keep = !{!0}\n!drop = !{!0}\n!0 = !{}\n";
    let module = context
        .create_module_from_ir(MemoryBuffer::create_from_memory_range_copy(text, "m"))
        .unwrap();
    offloom_ir::module::erase_named_metadata(&module, "drop");
    offloom_ir::module::erase_named_metadata(&module, "absent");
    let printed = module.print_to_string().to_string();
    assert!(printed.contains("!keep"), "{printed}");
    assert!(!printed.contains("!drop"), "{printed}");
}

#[test]
fn flags_are_removed_by_key_only() {
    let context = Context::create();
    let text = b"!llvm.module.flags = !{!0, !1}\n!0 = !{i32 7, !\"drop\", i32 51}\n!1 = !{i32 7, !\"drop-not\", i32 52}\n";
    let module = context
        .create_module_from_ir(MemoryBuffer::create_from_memory_range_copy(text, "m"))
        .unwrap();
    offloom_ir::module::remove_flag(&module, "drop");
    offloom_ir::module::remove_flag(&module, "absent");
    assert_eq!(offloom_ir::module::integer_flag(&module, "drop"), None);
    assert_eq!(offloom_ir::module::integer_flag(&module, "drop-not"), Some(52));
    let without = context.create_module("no flags");
    offloom_ir::module::remove_flag(&without, "drop");
}

/// Of a table of labels, and of a function that names labels of one behind it.
#[test]
fn what_is_done_to_a_module_is_not_done_to_its_copy() {
    let context = Context::create();
    let text = b"@labels = internal constant [2 x ptr] [ptr blockaddress(@jumps, %one), ptr blockaddress(@jumps, %two)]\n\
        define ptr @names() { ret ptr blockaddress(@jumps, %two) }\n\
        define i32 @jumps(ptr %label) {\n\
          indirectbr ptr %label, [label %one, label %two]\n\
        one:\n  ret i32 1\n\
        two:\n  ret i32 2\n}\n";
    let module = context
        .create_module_from_ir(MemoryBuffer::create_from_memory_range_copy(text, "m"))
        .unwrap();
    let before = module.print_to_string().to_string();
    let copy = offloom_ir::module::copy(&module);
    for function in module.get_functions() {
        for block in function.get_basic_block_iter() {
            block.set_name("renamed");
        }
    }
    let printed = copy.print_to_string().to_string();
    assert_eq!(printed, before);
    drop(module);
    copy.verify().unwrap();
}
