//! Which operands of approximations may be constants.

use offloom_ir::gpu::{has_approximated_constant, hide_approximated};
use offloom_ir::inkwell::context::Context;

use crate::parse;

/// A sum of a value that goes around in a loop and of what is made of it, which start at 0.25; the entries of
/// the loop's value in this order.
fn code(entries: &str) -> String {
    format!(
        r#"target triple = "nvptx64-nvidia-cuda"
        declare float @llvm.nvvm.ex2.approx.f(float)
        define void @f(ptr %out, i32 %count) {{
        entry:
          br label %loop
        loop:
          %a = phi float {entries}
          %i = phi i32 [ 0, %entry ], [ %more, %loop ]
          %x = fmul float %a, 7.500000e-01
          %sum = fadd float %a, %x
          %e = call float @llvm.nvvm.ex2.approx.f(float %sum)
          store volatile float %e, ptr %out
          %more = add i32 %i, 1
          %again = icmp ult i32 %more, %count
          br i1 %again, label %loop, label %done
        done:
          ret void
        }}"#
    )
}

#[test]
fn the_order_of_a_loops_entries_does_not_matter() {
    for (start, is_constant) in [("2.500000e-01", true), ("%given", false)] {
        for entries in [
            format!("[ %x, %loop ], [ {start}, %entry ]"),
            format!("[ {start}, %entry ], [ %x, %loop ]"),
        ] {
            let context = Context::create();
            let text = code(&entries).replace("i32 %count", "i32 %count, float %given");
            let module = parse(&context, &text);
            assert_eq!(hide_approximated(&module), 1, "{entries}");
            assert_eq!(has_approximated_constant(&module), is_constant, "{entries}");
        }
    }
}
