//! Operations whose result depends on how they are compiled, and what keeps it.

use offloom_ir::floating_point::{has_narrow_vector_conversions, run_until_vectorized};
use offloom_ir::inkwell::context::Context;

use crate::parse;
use crate::pipelines::machine;

/// A loop that converts a number in each round, which depends on that of the round before, so that there are
/// no vectors of rounds; unrolled to so many.
fn loop_that_narrows(unrolled: u32) -> String {
    format!(
        r#"target triple = "x86_64-pc-linux-gnu"
        define void @f(ptr %out, float %factor) {{
        entry:
          br label %loop
        loop:
          %i = phi i64 [ 0, %entry ], [ %next, %loop ]
          %s = phi float [ 3.0, %entry ], [ %sum, %loop ]
          %product = fmul float %s, %factor
          %sum = fadd float %product, 1.0
          %narrow = fptoui float %sum to i8
          %place = getelementptr i8, ptr %out, i64 %i
          store i8 %narrow, ptr %place
          %next = add nuw nsw i64 %i, 1
          %more = icmp ult i64 %next, 64
          br i1 %more, label %loop, label %second, !llvm.loop !0
        second:
          br label %other
        other:
          %j = phi i64 [ 0, %second ], [ %after, %other ]
          %there = getelementptr float, ptr %out, i64 %j
          store volatile float %sum, ptr %there
          %after = add nuw nsw i64 %j, 1
          %again = icmp ult i64 %after, 64
          br i1 %again, label %other, label %done, !llvm.loop !1
        done:
          ret void
        }}
        !0 = distinct !{{!0, !2}}
        !1 = distinct !{{!1, !2}}
        !2 = !{{!"llvm.loop.unroll.count", i32 {unrolled}}}"#
    )
}

#[test]
fn vectors_of_narrow_conversions_in_unrolled_loops_are_made_first() {
    for (unrolled, are_vectors) in [(4, true), (1, false)] {
        let context = Context::create();
        let module = parse(&context, &loop_that_narrows(unrolled));
        run_until_vectorized(&module, &machine(), "lto<O3>").unwrap();
        assert_eq!(has_narrow_vector_conversions(&module), are_vectors, "{unrolled}");
        let text = module.to_string();
        assert_eq!(
            text.matches("store volatile").count(),
            1,
            "not this one's: {text}"
        );
        assert!(!text.contains("llvm.loop.unroll.disable\", i32 1"), "{text}");
    }
}
