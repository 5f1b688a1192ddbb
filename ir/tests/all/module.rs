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
