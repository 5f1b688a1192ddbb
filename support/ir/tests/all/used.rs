//! The lists of used symbols.

use crate::parse;
use offloom_ir::inkwell::context::Context;
use offloom_ir::used::{UsedList, set_used, used};

#[test]
fn a_list_is_read_replaced_and_removed() {
    let context = Context::create();
    let module = parse(
        &context,
        r#"
@a = global i32 0
@b = addrspace(1) global i32 0
@llvm.used = appending global [2 x ptr] [ptr @a, ptr addrspacecast (ptr addrspace(1) @b to ptr)], section "llvm.metadata"
"#,
    );
    let listed = used(&module, UsedList::Used);
    let names: Vec<_> = listed.iter().map(|symbol| symbol.name()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(used(&module, UsedList::CompilerUsed).is_empty());

    set_used(&module, UsedList::CompilerUsed, &listed);
    set_used(&module, UsedList::Used, &listed[1..]);
    assert!(module.verify().is_ok());
    assert_eq!(used(&module, UsedList::Used), listed[1..]);
    assert_eq!(used(&module, UsedList::CompilerUsed), listed);

    for list in UsedList::BOTH {
        set_used(&module, list, &[]);
    }
    let printed = module.print_to_string().to_string();
    assert!(
        !printed.contains("llvm.used") && !printed.contains("llvm.compiler.used"),
        "{printed}"
    );
}
