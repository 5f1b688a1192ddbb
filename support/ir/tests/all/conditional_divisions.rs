//! Divisions under a condition that lead to an address, of which LLVM's loop vectoriser makes wrong code.

use crate::pipelines::optimized;

/// A loop that asks for vectors of four, and what it does in its later iterations.
fn module(then: &[&str]) -> String {
    let then = then.join("\n");
    format!(
        r#"target triple = "x86_64-pc-linux-gnu"
        target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
        define void @kernel(ptr noalias %in, ptr noalias %out, i64 %n, i64 %given, i64 %count) {{
        entry:
          %positive = lshr i64 %n, 1
          %other = lshr i64 %given, 1
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
        declare double @llvm.powi.f64.i32(double, i32)
        !0 = distinct !{{!0, !1, !2}}
        !1 = !{{!"llvm.loop.vectorize.enable", i1 true}}
        !2 = !{{!"llvm.loop.vectorize.width", i32 4}}"#
    )
}

const LOAD: &str = "%from = getelementptr inbounds i64, ptr %in, i64 %rest
                    %value = load i64, ptr %from";

fn vectorized(module: &str) -> String {
    optimized(module, "function(loop-vectorize)")
}

fn is_vectorized(text: &str) -> bool {
    text.contains("vector.body:")
}

/// The text up to the only division and behind it; nothing if there are more.
fn around_division<'text>(text: &'text str, division: &str) -> (&'text str, &'text str) {
    let around: Vec<_> = text.split(&format!(" = {division} ")).collect();
    let &[before, behind] = around.as_slice() else {
        return Default::default();
    };
    (before, behind)
}

#[test]
fn one_of_the_same_numbers_each_time_is_made_before_the_loop() {
    for then in [
        &["%rest = udiv i64 %given, %n", LOAD][..],
        // One address after the other.
        &["%first = udiv i64 %given, %n", "%rest = add i64 %first, %i", LOAD],
    ] {
        let text = vectorized(&module(then));
        let (before, behind) = around_division(&text, "udiv");
        assert!(is_vectorized(behind), "{text}");
        // It must not trap where the loop would never have made it.
        assert!(before.contains("select i1"), "{text}");
    }
}

#[test]
fn one_of_signed_numbers_does_not_overflow_before_the_loop() {
    for division in ["sdiv", "srem"] {
        let text = vectorized(&module(&[
            &format!("%rest = {division} i64 %other, %positive"),
            LOAD,
        ]));
        let (before, behind) = around_division(&text, division);
        assert!(is_vectorized(behind), "{text}");
        assert!(
            before.contains(", -1\n") && before.contains("select i1"),
            "{text}"
        );
    }
}

#[test]
fn an_exponent_is_asked_for_once_too() {
    let text = vectorized(&module(&[
        "%quotient = udiv i64 %given, %n",
        "%exponent = trunc i64 %quotient to i32",
        "%base = uitofp i64 %i to double",
        "%power = call double @llvm.powi.f64.i32(double %base, i32 %exponent)",
        "%value = fptoui double %power to i64",
    ]));
    let (_, behind) = around_division(&text, "udiv");
    assert!(is_vectorized(behind), "{text}");
}

#[test]
fn a_loop_with_another_one_stays_as_it_is() {
    for (divisor, vectors) in [("%n", false), ("7", true)] {
        let text = vectorized(&module(&[
            "%fourth = lshr i64 %i, 2",
            &format!("%rest = urem i64 %fourth, {divisor}"),
            LOAD,
        ]));
        assert_eq!(is_vectorized(&text), vectors, "{text}");
    }
}

#[test]
fn one_of_which_nothing_is_known_is_left_to_the_vectorizer() {
    for then in [
        // It leads to no address.
        &["%value = urem i64 %i, %n"][..],
        // Each iteration has an address of its own.
        &[
            "%keys = getelementptr inbounds i64, ptr %in, i64 %i",
            "%key = load i64, ptr %keys",
            "%rest = urem i64 %key, %n",
            LOAD,
        ],
        &["%rest = sdiv i64 %given, %n", LOAD],
    ] {
        let text = vectorized(&module(then));
        let (before, _) = text.split_once("middle.block:").unwrap_or((&text, ""));
        let (_, vectors) = before.split_once("vector.body:").unwrap_or_default();
        assert!(
            vectors.contains(" = urem ") || vectors.contains(" = sdiv "),
            "{text}"
        );
    }
}
