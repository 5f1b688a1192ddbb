//! Named metadata.

use crate::parse;
use offloom_ir::inkwell::context::Context;
use offloom_ir::metadata::{Operand, append_node, nodes};

#[test]
fn nodes_are_read_as_values() {
    let context = Context::create();
    let module = parse(
        &context,
        r#"
@g = global i32 0
!list = !{!0, !1, !2}
!0 = !{i32 7, !"name", ptr @g}
!1 = !{i64 5000000000, null, !2, i128 1, double 1.0}
!2 = !{}
"#,
    );
    let found = nodes(&module, "list");
    assert_eq!(
        found[0][..2],
        [Operand::Integer(7), Operand::String("name".into())]
    );
    assert!(matches!(&found[0][2], Operand::Symbol(symbol) if symbol.name() == "g"));
    assert!(
        found[1].iter().all(|operand| *operand == Operand::Other),
        "{:?}",
        found[1]
    );
    assert!(found[2].is_empty());
    assert!(nodes(&module, "absent").is_empty());

    append_node(&module, "list", &found[0]);
    append_node(&module, "new", &found[0]);
    assert_eq!(nodes(&module, "list")[3], found[0]);
    assert_eq!(nodes(&module, "new"), [found[0].clone()]);
    assert!(module.verify().is_ok());
}
