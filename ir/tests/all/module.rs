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
