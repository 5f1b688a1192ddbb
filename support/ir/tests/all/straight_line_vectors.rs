//! Loops that get a second form for memory that does not overlap.

use offloom_ir::codegen::run_pipeline;
use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::straight_line_vectors::run_with_versioned_loops;

use crate::parse;
use crate::pipelines::machine;

/// Four sums of products, each stored before what the next one is made of is loaded: no loop is in the body
/// any more, as with small matrices of known extents.
fn sums() -> String {
    let mut body = String::new();
    for at in 0..4 {
        let place = |object: &str, name: &str, offset: u32| {
            format!("%{name}{at} = getelementptr inbounds i8, ptr %{object}, i64 {offset}\n")
        };
        body += &place("from", "x", 8 * at);
        body += &place("from", "y", 32 + 8 * at);
        body += &place("from", "z", 64 + 8 * at);
        body += &place("to", "r", 8 * at);
        body += &format!(
            "%a{at} = load double, ptr %x{at}
             %b{at} = load double, ptr %y{at}
             %c{at} = load double, ptr %z{at}
             %p{at} = fmul double %a{at}, %b{at}
             %s{at} = fadd double %p{at}, %c{at}
             store double %s{at}, ptr %r{at}\n"
        );
    }
    format!(
        r#"target triple = "x86_64-pc-linux-gnu"
        define void @sums(ptr %in, ptr %out, i64 %n) {{
        entry:
          br label %loop
        loop:
          %i = phi i64 [ 0, %entry ], [ %next, %loop ]
          %read = mul i64 %i, 96
          %written = mul i64 %i, 32
          %from = getelementptr inbounds i8, ptr %in, i64 %read
          %to = getelementptr inbounds i8, ptr %out, i64 %written
          {body}
          %next = add nuw nsw i64 %i, 1
          %more = icmp slt i64 %next, %n
          br i1 %more, label %loop, label %exit, !llvm.loop !0
        exit:
          ret void
        }}
        !0 = distinct !{{!0, !1, !2, !3}}
        !1 = !{{!"llvm.loop.vectorize.width", i32 1}}
        !2 = !{{!"llvm.loop.interleave.count", i32 1}}
        !3 = !{{!"llvm.loop.unroll.disable"}}"#
    )
}

#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot optimise its module has failed"
)]
fn optimized(with_versions: bool) -> String {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let module = parse(&context, &sums());
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
    let module = parse(&context, &sums());
    let machine = machine();
    assert!(run_with_versioned_loops(&module, &machine, &errors, "no-such-pass").is_err());
}
