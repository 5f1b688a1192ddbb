//! Which operands of approximations may be constants.

use offloom_ir::gpu::{has_approximated_constant, hide_approximated, show_approximated};
use offloom_ir::inkwell::context::Context;

use crate::parse;

/// A sum of a value that goes around in a loop and of what is made of it, which start at 0.25; the entries of
/// the loop's value in this order.
fn code(entries: &str) -> String {
    format!(
        r#"target triple = "nvptx64-nvidia-cuda"
        declare float @llvm.nvvm.ex2.approx.f(float)
        define void @f(ptr %out, i32 %count, float %given) {{
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
            let module = parse(&context, &code(&entries));
            assert_eq!(hide_approximated(&module), 1, "{entries}");
            assert_eq!(has_approximated_constant(&module), is_constant, "{entries}");
        }
    }
}

/// The part of a vector that is a constant while the other one may be none.
const VECTOR: &str = r#"target triple = "nvptx64-nvidia-cuda"
    @zero = external addrspace(4) global i64
    declare float @llvm.nvvm.ex2.approx.f(float)
    define float @f(i1 %c, float %given) {
      %a = select i1 %c, float 2.500000e-01, float %given
      %one = insertelement <2 x float> poison, float %a, i32 0
      %both = insertelement <2 x float> %one, float 5.000000e-01, i32 1
      %products = fmul <2 x float> %both, <float 3.000000e+00, float 1.000000e+00>
      %second = extractelement <2 x float> %products, i32 1
      %e = call float @llvm.nvvm.ex2.approx.f(float %second)
      ret float %e
    }"#;

#[test]
fn a_part_of_a_vector_is_hidden_itself() {
    let context = Context::create();
    let module = parse(&context, VECTOR);
    assert_eq!(hide_approximated(&module), 1);
    assert!(has_approximated_constant(&module));
    show_approximated(&module, module.get_global("zero"));
    let text = module.print_to_string().to_string();
    assert!(text.contains("bitcast float %second to i32"), "{text}");
    assert!(!text.contains("ex2.approx.f(float %second)"), "{text}");
}

/// How many operands are hidden in a function of two floats that does this.
fn hidden_in(triple: &str, body: &str) -> usize {
    hidden_with(triple, "", body)
}

/// The same, in a function with these attributes.
fn hidden_with(triple: &str, attributes: &str, body: &str) -> usize {
    let context = Context::create();
    let code = format!(
        r#"target triple = "{triple}"
        declare float @llvm.exp2.f32(float)
        declare float @llvm.fabs.f32(float)
        define float @f(float %a, float %b) {attributes} {{
          {body}
          ret float %r
        }}"#
    );
    hide_approximated(&parse(&context, &code))
}

#[test]
fn a_remainder_is_an_approximation_on_gpus() {
    for triple in ["nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa"] {
        assert_eq!(hidden_in(triple, "%r = frem float %a, %b"), 2, "{triple}");
        assert_eq!(hidden_in(triple, "%r = frem float %a, 3.0"), 1, "{triple}");
        assert_eq!(hidden_in(triple, "%r = fdiv float %a, %b"), 0, "{triple}");
    }
}

#[test]
fn a_power_of_two_is_an_approximation_on_gpus() {
    for triple in ["nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa"] {
        let body = "%r = call float @llvm.exp2.f32(float %a)";
        assert_eq!(hidden_in(triple, body), 1, "{triple}");
    }
}

#[test]
fn nothing_is_folded_where_very_small_numbers_are_zeros() {
    for triple in ["nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa"] {
        for (body, expected) in [
            ("%r = fmul float %a, 1.0", 1),
            ("%r = call float @llvm.fabs.f32(float %a)", 1),
            ("%d = fpext float %a to double %r = fptrunc double %d to float", 2),
            ("%c = icmp eq i32 1, 2 %r = select i1 %c, float %a, float %b", 0),
        ] {
            for key in ["denormal-fp-math", "denormal-fp-math-f32"] {
                let attributes = format!("\"{key}\"=\"preserve-sign,preserve-sign\"");
                assert_eq!(
                    hidden_with(triple, &attributes, body),
                    expected,
                    "{triple} {body} {key}"
                );
            }
            assert_eq!(hidden_in(triple, body), 0, "{triple} {body}");
        }
    }
}
