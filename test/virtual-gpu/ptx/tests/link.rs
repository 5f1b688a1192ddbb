//! Linking: which definition of a name counts, whose names are whose own, what is an error.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

use offloom_ptx::link::{LinkError, link};
use offloom_ptx::tree::{
    Address, Base, Call, CallTarget, Function, Linkage, Module, Operand, Reference, Symbol, SymbolIndex,
    SymbolKind, Variable,
};

const HEADER: &str = ".version 7.8\n.target sm_80\n.address_size 64\n";

fn module(name: &str, text: &str) -> Module {
    offloom_ptx::parse(name, format!("{HEADER}{text}").as_bytes()).unwrap()
}

fn linked(texts: &[&str]) -> Result<Module, LinkError> {
    let modules = texts
        .iter()
        .enumerate()
        .map(|(number, text)| module(&format!("{number}.ptx"), text));
    link(modules.collect())
}

fn all<'a>(module: &'a Module, name: &str) -> Vec<(SymbolIndex, &'a Symbol)> {
    let symbols = module.symbols.iter().zip(0..);
    let named = symbols.filter(|(symbol, _)| symbol.name == name);
    named
        .map(|(symbol, index)| (SymbolIndex(index), symbol))
        .collect()
}

fn one<'a>(module: &'a Module, name: &str) -> (SymbolIndex, &'a Symbol) {
    let [only] = all(module, name)[..] else {
        panic!("`{name}` is there {} times", all(module, name).len());
    };
    only
}

fn function<'a>(module: &'a Module, name: &str) -> &'a Function {
    match &one(module, name).1.kind {
        SymbolKind::Function(function) => function,
        other => panic!("{other:?}"),
    }
}

fn variable(symbol: &Symbol) -> &Variable {
    match &symbol.kind {
        SymbolKind::Variable(variable) => variable,
        other => panic!("{other:?}"),
    }
}

/// The symbols that a function's instructions name, in order.
fn named_by(function: &Function) -> Vec<SymbolIndex> {
    let mut found = Vec::new();
    for instruction in &function.body.as_ref().unwrap().instructions {
        for operand in &instruction.operands {
            match operand {
                Operand::Symbol(Reference::Symbol(symbol), _)
                | Operand::Address(Address {
                    base: Base::Reference(Reference::Symbol(symbol)),
                    ..
                }) => found.push(*symbol),
                Operand::Call(call) => {
                    if let Call {
                        target: CallTarget::Direct(symbol),
                        ..
                    } = &**call
                    {
                        found.push(*symbol);
                    }
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn internal_names_are_of_their_file() {
    let file = |value: u32, name: &str| {
        format!(
            ".global .u32 counter = {value};\n.func helper() {{ .reg .b32 %r; ld.global.u32 %r, [counter]; ret; }}\n\
             .visible .func {name}() {{ call helper; ret; }}"
        )
    };
    let module = linked(&[&file(1, "first"), &file(2, "second")]).unwrap();
    let helpers = all(&module, "helper");
    let counters = all(&module, "counter");
    assert_eq!((helpers.len(), counters.len()), (2, 2));
    assert_eq!(named_by(function(&module, "first")), [helpers[0].0]);
    assert_eq!(named_by(function(&module, "second")), [helpers[1].0]);
    for (file, (_, helper)) in helpers.iter().enumerate() {
        let SymbolKind::Function(helper) = &helper.kind else {
            panic!("{helper:?}")
        };
        assert_eq!(named_by(helper), [counters[file].0]);
        assert_eq!(
            usize::from(variable(counters[file].1).initializer.data[0]),
            file + 1
        );
    }
}

#[test]
fn external_names_are_resolved_in_code_and_in_initialisers() {
    let module = linked(&[
        ".extern .global .align 4 .u32 x; .extern .func (.param .b32 r) f(.param .b64 p);\n\
         .visible .global .align 8 .u64 table[2] = {generic(x), f};\n\
         .visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [x+4]; ret; }",
        ".global .u32 own; .visible .func (.param .b32 r) f(.param .b64 p) { ret; } .visible .global .align 4 .u32 x = 7;",
    ])
    .unwrap();
    let (x, symbol) = one(&module, "x");
    assert_eq!((symbol.linkage, &*symbol.file), (Linkage::Visible, "1.ptx"));
    let (f, _) = one(&module, "f");
    assert!(function(&module, "f").body.is_some());
    let table = variable(one(&module, "table").1);
    let relocations = table.initializer.relocations.iter();
    assert_eq!(
        relocations
            .map(|each| (each.offset, each.symbol, each.is_generic))
            .collect::<Vec<_>>(),
        [(0, x, true), (8, f, false)]
    );
    assert_eq!(named_by(function(&module, "k")), [x]);
}

#[test]
fn a_visible_definition_counts_more_than_weak_ones_and_of_those_the_first() {
    let weak = |value| format!(".weak .global .u32 x = {value};");
    let value = |module: &Module| variable(one(module, "x").1).initializer.data[0];
    assert_eq!(value(&linked(&[&weak(1), &weak(2)]).unwrap()), 1);
    let visible = ".visible .global .u32 x = 3;";
    assert_eq!(value(&linked(&[&weak(1), visible, &weak(2)]).unwrap()), 3);
    assert_eq!(value(&linked(&[visible, &weak(1)]).unwrap()), 3);
    let common = ".common .global .u32 x;";
    assert_eq!(value(&linked(&[common, &weak(1)]).unwrap()), 1);
}

#[test]
fn of_common_variables_the_largest_counts() {
    let module = linked(&[
        ".common .global .align 4 .b8 x[8];",
        ".common .global .align 16 .b8 x[24];",
        ".common .global .align 8 .b8 x[16];",
    ])
    .unwrap();
    let x = variable(one(&module, "x").1);
    assert_eq!((x.size, x.alignment), (24, 16));
}

#[test]
fn what_no_one_defines_stays_external() {
    let text = ".extern .shared .align 16 .b8 dynamic[]; .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);";
    let module = linked(&[text, text]).unwrap();
    assert_eq!(module.symbols.len(), 2);
    assert!(
        module
            .symbols
            .iter()
            .all(|symbol| symbol.linkage == Linkage::Extern)
    );
    assert_eq!(variable(one(&module, "dynamic").1).size, 0);
}

#[test]
fn aliases_are_resolved_across_files() {
    let module = linked(&[
        ".visible .func f() { ret; } .visible .func g(); .alias g, f;",
        ".extern .func g(); .visible .entry k() { call g; ret; }",
    ])
    .unwrap();
    assert_eq!(named_by(function(&module, "k")), [one(&module, "f").0]);
    assert!(matches!(one(&module, "g").1.kind, SymbolKind::Alias(f) if f == one(&module, "f").0));
}

#[test]
fn source_files_get_new_numbers() {
    let text = |path: &str| format!(".file 1 \"{path}\"\n.visible .func {path}() {{\n.loc 1 12 3\nret; }}");
    let module = linked(&[&text("a"), &text("b")]).unwrap();
    for path in ["a", "b"] {
        let location = function(&module, path).body.as_ref().unwrap().locations[0];
        let file = module
            .files
            .iter()
            .find(|file| file.number == location.file)
            .unwrap();
        assert_eq!((file.path.as_str(), location.line), (path, 12));
    }
}

#[test]
fn errors_name_both_places() {
    let message = |texts: &[&str]| linked(texts).unwrap_err().to_string();
    assert_eq!(
        message(&[".visible .func f() { ret; }", "\n.visible .func f() { ret; }"]),
        "`f` is defined in 0.ptx:4 and in 1.ptx:5; make one of them weak, or give it another name"
    );
    assert_eq!(
        message(&[".extern .global .b8 x[8];", ".visible .global .b8 x[4];"]),
        "`x` is a variable of 8 bytes in global memory in 0.ptx:4, and a variable of 4 bytes in global memory in 1.ptx:4; \
         make the declarations equal"
    );
    assert_eq!(
        message(&[
            ".extern .func f(.param .b64 p);",
            ".visible .func f(.param .b32 p) { ret; }"
        ]),
        "`f` is a function with results of [] and parameters of [8] bytes in 0.ptx:4, and a function with results of [] and \
         parameters of [4] bytes in 1.ptx:4; make the declarations equal"
    );
    assert_eq!(
        message(&[".alias a, b; .alias b, a;"]),
        "the alias `b` in 0.ptx:4 leads to itself"
    );
    assert_eq!(link(Vec::new()).unwrap_err(), LinkError::Nothing);
}
