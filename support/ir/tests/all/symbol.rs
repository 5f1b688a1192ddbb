//! Symbols, their attributes and comdats.

use crate::parse;
use offloom_ir::inkwell::context::Context;
use offloom_ir::symbol::{Symbol, SymbolKind, functions, symbols, variables};

const TEXT: &str = r#"
$group = comdat any
@first = global [3 x i32] zeroinitializer, comdat($group)
@second = external global i64 #0
@other = alias [3 x i32], ptr @first
@pointer = constant ptr getelementptr inbounds (i8, ptr @first, i64 4)
define void @run() #1 { ret void }
attributes #0 = { "offload-entry"="to" }
attributes #1 = { nounwind "offload-entry"="kernel" }
"#;

#[test]
fn every_kind_is_listed_in_order() {
    let context = Context::create();
    let module = parse(&context, TEXT);
    let found: Vec<_> = symbols(&module)
        .into_iter()
        .map(|symbol| (symbol.name(), symbol.kind()))
        .collect();
    let expected = [
        ("first", SymbolKind::Variable),
        ("second", SymbolKind::Variable),
        ("pointer", SymbolKind::Variable),
        ("run", SymbolKind::Function),
        ("other", SymbolKind::Alias),
    ];
    assert_eq!(found, expected.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn string_attributes_of_variables_and_functions() {
    let context = Context::create();
    let module = parse(&context, TEXT);
    let [first, second, _] = variables(&module)[..] else {
        panic!("three variables")
    };
    let run = functions(&module)[0];
    assert_eq!(first.string_attribute("offload-entry"), None);
    assert_eq!(second.string_attribute("offload-entry").as_deref(), Some("to"));
    assert_eq!(run.string_attribute("offload-entry").as_deref(), Some("kernel"));
    first.set_string_attribute("offload-entry", "");
    assert_eq!(first.string_attribute("offload-entry").as_deref(), Some(""));
    for symbol in [first, second, run] {
        symbol.remove_string_attribute("offload-entry");
        assert_eq!(symbol.string_attribute("offload-entry"), None);
    }
    let printed = module.print_to_string().to_string();
    assert!(
        printed.contains("nounwind") && !printed.contains("offload-entry"),
        "{printed}"
    );
}

#[test]
fn sizes_comdats_and_pointers() {
    let context = Context::create();
    let module = parse(&context, TEXT);
    let [first, second, pointer] = variables(&module)[..] else {
        panic!("three variables")
    };
    assert_eq!(first.value_size(&module), 12);
    assert_eq!(second.value_size(&module), 8);
    assert!(second.is_declaration());
    assert_eq!(
        pointer.initializer().as_ref().and_then(Symbol::behind),
        Some(first)
    );
    assert!(first.comdat().is_some() && second.comdat().is_none());
    first.leave_comdat();
    assert!(first.comdat().is_none());
    assert!(module.verify().is_ok());
}
