//! Divisions under a condition that lead to an address, of which LLVM's loop vectoriser makes wrong code.

use offloom_ir::codegen::{MachineOptions, run_pipeline, target_machine};
use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;

use crate::parse;

/// A loop that asks for vectors of four, and in its later iterations divides, by a number that is not known.
fn module(then: &[&str]) -> String {
    let then = then.join("\n");
    format!(
        r#"target triple = "x86_64-pc-linux-gnu"
        target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
        define void @kernel(ptr noalias %in, ptr noalias %out, i64 %n, i64 %given, i64 %count) {{
        entry:
          br label %loop
        loop:
          %i = phi i64 [ 0, %entry ], [ %next, %latch ]
          %late = icmp ugt i64 %i, 41
          br i1 %late, label %then, label %latch
        then:
          {then}
          br label %latch
        latch:
          %taken = phi i64 [ 0, %loop ], [ %value, %then ]
          %place = getelementptr inbounds i64, ptr %out, i64 %i
          store i64 %taken, ptr %place
          %next = add nuw nsw i64 %i, 1
          %more = icmp ult i64 %next, %count
          br i1 %more, label %loop, label %exit, !llvm.loop !0
        exit:
          ret void
        }}
        !0 = distinct !{{!0, !1, !2}}
        !1 = !{{!"llvm.loop.vectorize.enable", i1 true}}
        !2 = !{{!"llvm.loop.vectorize.width", i32 4}}"#
    )
}

const LOAD: &str = "%from = getelementptr inbounds i64, ptr %in, i64 %rest
                    %value = load i64, ptr %from";

#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot optimise its module has failed"
)]
fn vectorized(module: &str) -> String {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let module = parse(&context, module);
    let options = MachineOptions {
        triple: "x86_64-pc-linux-gnu",
        cpu: "",
        features: "",
        optimization_level: 3,
    };
    let machine = target_machine(&options).unwrap();
    run_pipeline(&module, &machine, &errors, "function(loop-vectorize)").unwrap();
    module.verify().unwrap();
    module.to_string()
}

#[test]
fn one_of_the_same_numbers_each_time_is_made_before_the_loop() {
    for division in ["udiv", "sdiv"] {
        let text = vectorized(&module(&[&format!("%rest = {division} i64 %given, %n"), LOAD]));
        let divisions: Vec<_> = text.match_indices(&format!(" = {division} ")).collect();
        let [(division, _)] = divisions[..] else {
            panic!("{text}");
        };
        let vectors = text.find("vector.body:");
        assert!(vectors.is_some_and(|vectors| division < vectors), "{text}");
        // It must not trap where the loop would never have made it.
        assert!(text[..division].contains("select i1"), "{text}");
    }
}

#[test]
fn a_loop_with_another_one_stays_as_it_is() {
    let text = vectorized(&module(&[
        "%fourth = lshr i64 %i, 2",
        "%rest = urem i64 %fourth, %n",
        LOAD,
    ]));
    assert!(!text.contains("vector.body:"), "{text}");
}

#[test]
fn one_that_leads_to_no_address_is_left_to_the_vectorizer() {
    let text = vectorized(&module(&["%value = urem i64 %i, %n"]));
    assert!(text.contains("vector.body:"), "{text}");
}
