//! Errors as values, objects, and linking them into the process.

use std::time::Duration;

use offloom_ir::codegen::{MachineOptions, emit_object, target_machine};
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::targets::TargetMachine;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::link_modules::{LinkModulesError, link_modules};
use offloom_ir::module::append_constructor;
use offloom_ir::orc::Session;
use offloom_ir::sacrificial_thread::{Lost, run_on_sacrificial_thread};
use offloom_ir::symbol::find;
use offloom_thread::ProcessorClock;

use crate::parse;

const TRIPLE: &str = "x86_64-pc-linux-gnu";

#[expect(clippy::unwrap_used, reason = "a test without its object has failed")]
fn machine() -> TargetMachine {
    target_machine(&MachineOptions {
        triple: TRIPLE,
        cpu: "",
        features: "",
        optimization_level: 2,
    })
    .unwrap()
}

#[expect(clippy::unwrap_used, reason = "a test without its object has failed")]
pub(crate) fn object(text: &str) -> Vec<u8> {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let module = parse(&context, text);
    emit_object(&module, &machine(), &errors)
        .unwrap()
        .as_slice()
        .to_vec()
}

#[test]
fn clashing_definitions_are_an_error_that_names_the_member() {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let bitcode = |text: &str| {
        parse(&context, text)
            .write_bitcode_to_memory()
            .as_slice()
            .to_vec()
    };
    let (first, second) = (bitcode("@x = global i32 1"), bitcode("@x = global i32 2"));
    let error = link_modules(&context, &errors, &[("a.bc", &first), ("b.bc", &second)], |_| {}).unwrap_err();
    assert!(matches!(error, LinkModulesError::Link { .. }));
    assert!(
        error.to_string().contains("b.bc") && error.to_string().contains('x'),
        "{error}"
    );
}

#[test]
fn what_is_not_bitcode_is_an_error() {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let error = link_modules(&context, &errors, &[("a.bc", b"not bitcode")], |_| {}).unwrap_err();
    assert!(matches!(error, LinkModulesError::Parse { .. }), "{error}");
}

#[test]
fn constructors_go_where_every_linker_finds_them() {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let module = parse(&context, "define internal void @ctor() { ret void }");
    append_constructor(&module, module.get_function("ctor").unwrap(), 101);
    let object = emit_object(&module, &machine(), &errors).unwrap();
    let names = String::from_utf8_lossy(object.as_slice()).into_owned();
    assert!(
        names.contains(".init_array.101"),
        "the constructor is not in .init_array"
    );
}

#[test]
fn a_weak_reference_stays_weak_as_a_declaration() {
    let context = Context::create();
    let module = parse(
        &context,
        "declare extern_weak hidden void @maybe()\ndefine hidden i32 @f() { ret i32 1 }",
    );
    find(&module, "maybe").unwrap().become_declaration();
    find(&module, "f").unwrap().become_declaration();
    let printed = module.print_to_string().to_string();
    assert!(printed.contains("declare extern_weak void @maybe()"), "{printed}");
    assert!(printed.contains("declare i32 @f()"), "{printed}");
}

#[test]
fn objects_see_absolute_symbols_and_missing_ones_are_named() {
    let object = object(
        "target triple = \"x86_64-pc-linux-gnu\"\n\
         @state = external global i32\n\
         declare void @nobody_defines_this()\n\
         define ptr @good() { ret ptr @state }\n\
         define void @bad() { call void @nobody_defines_this() ret void }",
    );
    let session = Session::start().unwrap();
    let dylib = session.create_dylib("test").unwrap();
    let state = 7_i32;
    dylib
        .define_absolute([("state", (&raw const state).cast())])
        .unwrap();
    assert!(dylib.define_absolute([("state", std::ptr::null())]).is_err());
    dylib.add_object(&object, "object").unwrap();
    let error = dylib.look_up("good").unwrap_err();
    assert!(error.to_string().contains("nobody_defines_this"), "{error}");

    let whole = session.create_dylib("whole").unwrap();
    whole
        .define_absolute([
            ("state", (&raw const state).cast()),
            ("nobody_defines_this", std::ptr::null()),
        ])
        .unwrap();
    whole.add_object(&object, "object").unwrap();
    assert!(!whole.look_up("good").unwrap().is_null());
}

#[test]
fn a_fatal_error_ends_neither_the_process_nor_later_work() {
    // A vector wider than any register of the baseline processor, through an intrinsic that needs it whole.
    let text = "target triple = \"x86_64-pc-linux-gnu\"\n\
        declare <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float>, <16 x float>, i16)\n\
        define <16 x float> @f(<16 x float> %x) {\n\
        %y = call <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float> %x, <16 x float> %x, i16 -1)\n\
        ret <16 x float> %y\n}";
    let outcome = run_on_sacrificial_thread(Duration::from_secs(60), move || object(text).len());
    assert!(
        matches!(&outcome, Err(Lost::FatalError(reason)) if !reason.is_empty()),
        "{outcome:?}"
    );
    assert!(!object("define void @f() { ret void }").is_empty());
}

#[test]
fn half_of_the_time_at_work_is_enough_to_be_late() {
    let deadline = Duration::from_millis(100);
    let late = |at_work| Lost::late(deadline, at_work);
    assert!(matches!(late(Some(deadline)), Lost::Deadline(_)));
    assert!(matches!(late(Some(deadline / 2)), Lost::Deadline(_)));
    assert!(matches!(
        late(Some(Duration::from_millis(49))),
        Lost::NotAtWork { .. }
    ));
    assert!(matches!(late(None), Lost::NotAtWork { .. }));
}

#[test]
fn work_that_takes_too_long_is_left_alone() {
    let (never_sent, never_received) = std::sync::mpsc::channel::<()>();
    let outcome = run_on_sacrificial_thread(Duration::from_millis(20), move || never_received.recv());
    assert!(matches!(outcome, Err(Lost::NotAtWork { .. })), "{outcome:?}");
    // At work, unless others have the processors for more than half of the time. That is so short a time that
    // they do not in all of many tries, however many they are; and a try begins when the one before it has
    // left the processors.
    let mut tries = (0..10_000).map(|_| {
        let (alive, dead) = std::sync::mpsc::channel::<()>();
        let outcome = run_on_sacrificial_thread(Duration::from_millis(2), move || {
            let clock = ProcessorClock::of_this_thread();
            while clock.now() < Duration::from_millis(10) {
                std::hint::spin_loop();
            }
            drop(alive);
        });
        assert!(dead.recv().is_err());
        outcome
    });
    assert!(tries.any(|outcome| matches!(outcome, Err(Lost::Deadline(_)))));
    drop(never_sent);
    let sum = run_on_sacrificial_thread(Duration::from_secs(60), || 2 + 2);
    assert_eq!(sum.ok(), Some(4));
}
