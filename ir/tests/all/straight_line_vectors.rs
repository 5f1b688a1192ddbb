//! Loops that get a second form for memory that does not overlap.

use offloom_ir::codegen::{MachineOptions, run_pipeline, target_machine};
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::targets::TargetMachine;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::straight_line_vectors::run_with_versioned_loops;

use crate::parse;

/// Two sums of products for each pair of places that are written: no loop is in the body any more, as with small matrices of known extents.
const PAIRS: &str = r#"
    target triple = "x86_64-pc-linux-gnu"
    define void @pairs(ptr %in, ptr %out, i64 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %at = mul i64 %i, 48
      %to = mul i64 %i, 16
      %x0 = getelementptr inbounds i8, ptr %in, i64 %at
      %x1 = getelementptr inbounds i8, ptr %x0, i64 8
      %y0 = getelementptr inbounds i8, ptr %x0, i64 16
      %y1 = getelementptr inbounds i8, ptr %x0, i64 24
      %z0 = getelementptr inbounds i8, ptr %x0, i64 32
      %z1 = getelementptr inbounds i8, ptr %x0, i64 40
      %r0 = getelementptr inbounds i8, ptr %out, i64 %to
      %r1 = getelementptr inbounds i8, ptr %r0, i64 8
      %a0 = load double, ptr %x0
      %b0 = load double, ptr %y0
      %c0 = load double, ptr %z0
      %p0 = fmul double %a0, %b0
      %s0 = fadd double %p0, %c0
      store double %s0, ptr %r0
      %a1 = load double, ptr %x1
      %b1 = load double, ptr %y1
      %c1 = load double, ptr %z1
      %p1 = fmul double %a1, %b1
      %s1 = fadd double %p1, %c1
      store double %s1, ptr %r1
      %next = add nuw nsw i64 %i, 1
      %more = icmp slt i64 %next, %n
      br i1 %more, label %loop, label %exit, !llvm.loop !0
    exit:
      ret void
    }
    !0 = distinct !{!0, !1, !2}
    !1 = !{!"llvm.loop.vectorize.width", i32 1}
    !2 = !{!"llvm.loop.interleave.count", i32 1}
"#;

#[expect(clippy::unwrap_used, reason = "a test without its target machine has failed")]
fn machine() -> TargetMachine {
    target_machine(&MachineOptions {
        triple: "x86_64-pc-linux-gnu",
        cpu: "",
        features: "",
        optimization_level: 3,
    })
    .unwrap()
}

#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot optimise its module has failed"
)]
fn optimized(with_versions: bool) -> String {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let module = parse(&context, PAIRS);
    let machine = machine();
    let run = if with_versions {
        run_with_versioned_loops
    } else {
        run_pipeline
    };
    run(&module, &machine, &errors, "lto<O3>").unwrap();
    module.verify().unwrap();
    module.to_string()
}

#[test]
fn stores_to_neighbours_become_vectors_where_nothing_overlaps() {
    let (before, after) = (optimized(false), optimized(true));
    assert!(!before.contains("store <2 x double>"), "{before}");
    assert!(after.contains("store <2 x double>"), "{after}");
    assert!(
        after.contains("store double"),
        "no form for what overlaps: {after}"
    );
}

#[test]
fn what_is_no_pipeline_is_an_error() {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let module = parse(&context, PAIRS);
    let machine = machine();
    assert!(run_with_versioned_loops(&module, &machine, &errors, "no-such-pass").is_err());
}
