//! Loops that nobody is to unroll again, and of which the count is known by now.

use offloom_ir::gpu::release_counted_loops;
use offloom_ir::inkwell::context::Context;

use crate::parse;

/// A loop of so many rounds, with the mark.
fn marked_loop(rounds: &str) -> String {
    format!(
        r#"define void @marked(ptr %out, i64 %n) {{
        entry:
          br label %loop
        loop:
          %i = phi i64 [ 0, %entry ], [ %next, %loop ]
          %place = getelementptr inbounds i64, ptr %out, i64 %i
          store i64 %i, ptr %place
          %next = add nuw nsw i64 %i, 1
          %more = icmp ult i64 %next, {rounds}
          br i1 %more, label %loop, label %done, !llvm.loop !0
        done:
          ret void
        }}
        !0 = distinct !{{!0, !1, !2}}
        !1 = !{{!"llvm.loop.mustprogress"}}
        !2 = !{{!"llvm.loop.unroll.disable"}}"#
    )
}

#[test]
fn only_loops_of_few_known_rounds_lose_the_mark() {
    for (rounds, released) in [("3", 1), ("8", 1), ("9", 0), ("%n", 0)] {
        let context = Context::create();
        let module = parse(&context, &marked_loop(rounds));
        assert_eq!(release_counted_loops(&module, 8, 0), released, "{rounds}");
        let text = module.print_to_string().to_string();
        assert_eq!(
            text.contains("llvm.loop.unroll.disable"),
            released == 0,
            "{rounds}"
        );
        assert!(text.contains("llvm.loop.mustprogress"), "{rounds}");
    }
}

#[test]
fn straight_line_code_that_loses_the_mark_is_to_be_unrolled_too() {
    let context = Context::create();
    let module = parse(&context, &marked_loop("8"));
    assert_eq!(release_counted_loops(&module, 8, 48), 1);
    let text = module.print_to_string().to_string();
    assert!(
        text.contains("llvm.loop.unroll.full") && !text.contains("llvm.loop.unroll.disable"),
        "{text}"
    );
}

#[test]
fn straight_line_code_of_few_known_rounds_is_to_be_unrolled() {
    // Six instructions of the loop, eight times.
    for (rounds, most, marked) in [("8", 48, 1), ("8", 47, 0), ("9", 64, 0), ("%n", 64, 0)] {
        let context = Context::create();
        let text = marked_loop(rounds)
            .replace(", !2}", "}")
            .replace("!2 = !{!\"llvm.loop.unroll.disable\"}", "");
        let module = parse(&context, &text);
        assert_eq!(release_counted_loops(&module, 8, most), marked, "{rounds} {most}");
        let text = module.print_to_string().to_string();
        assert_eq!(
            text.contains("llvm.loop.unroll.full"),
            marked == 1,
            "{rounds} {most}"
        );
    }
}
