//! Operations whose result depends on how they are compiled, and what keeps it.

use offloom_ir::codegen::{initialize_hosts, run_pipeline};
use offloom_ir::floating_point::{
    expand_operations, forget_denormal_modes, fuse_operations, has_conversions_of_processor,
    run_until_vectorized, spell_out_roundings,
};
use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;

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
        assert_eq!(has_conversions_of_processor(&module), are_vectors, "{unrolled}");
        let text = module.to_string();
        assert_eq!(
            text.matches("store volatile").count(),
            1,
            "not this one's: {text}"
        );
        assert!(!text.contains("llvm.loop.unroll.disable\", i32 1"), "{text}");
    }
}

/// What comes of a function that returns an integer of 16 bits, `%r`, for that processor, with its operations
/// settled and then folded.
#[expect(clippy::unwrap_used, reason = "a test whose pipeline does not run has failed")]
fn settled(target: &str, attributes: &str, body: &str) -> String {
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let code = format!(
        r#"target triple = "{target}"
        declare half @llvm.fma.f16(half, half, half)
        declare bfloat @llvm.fma.bf16(bfloat, bfloat, bfloat)
        define i16 @f() {attributes} {{
          {body}
          ret i16 %r
        }}"#
    );
    let module = parse(&context, &code);
    forget_denormal_modes(&module);
    expand_operations(&module);
    spell_out_roundings(&module);
    // Whoever folds here asks a machine of x86, which knows no other processors.
    let kept = match attributes {
        "" => module.to_string(),
        attributes => module.to_string().replace(attributes, "nounwind"),
    };
    let module = parse(&context, &kept);
    run_pipeline(&module, &machine(), &errors, "function(sroa,instcombine)").unwrap();
    module.verify().unwrap();
    module.to_string()
}

/// A constant that comes in behind what settles operations.
fn given(kind: &str, value: &str) -> String {
    format!("%place = alloca {kind} store {kind} {value}, ptr %place %given = load {kind}, ptr %place ")
}

const X86: &str = "x86_64-pc-linux-gnu";
const ARM: &str = "aarch64-unknown-linux-gnu";
const NVIDIA: &str = "nvptx64-nvidia-cuda";

/// Settles the body for processors, each a target and attributes, and looks for what is to come of it.
fn check(body: &str, expectations: &[(&str, &str, &str)]) {
    for (target, attributes, expected) in expectations {
        let text = settled(target, attributes, body);
        assert!(text.contains(expected), "{target} {attributes}: {text}");
    }
}

#[test]
fn an_integer_becomes_a_short_number_by_way_of_another_one() {
    // Between 0x4e80 and 0x4e81: nearer to the latter, and as `float` just between.
    let body = given("i32", "1077936129")
        + "%number = sitofp i32 %given to bfloat %r = bitcast bfloat %number to i16";
    let (once, twice) = ("ret i16 20097", "ret i16 20096");
    check(
        &body,
        &[
            (X86, "", twice),
            ("amdgcn-amd-amdhsa", "", twice),
            (NVIDIA, r#""target-cpu"="sm_89""#, twice),
            (NVIDIA, r#""target-cpu"="sm_90a""#, once),
            (ARM, "", once),
        ],
    );
}

#[test]
fn very_small_short_numbers_are_left_to_instructions_that_make_them_zeros() {
    initialize_hosts();
    let body = given("float", "0x37F0000000000000")
        + "%number = fptrunc float %given to bfloat %r = bitcast bfloat %number to i16";
    let (folded, left) = ("ret i16 32", "fptrunc float");
    check(
        &body,
        &[
            (X86, "", folded),
            (X86, r#""target-cpu"="haswell""#, folded),
            (X86, r#""target-cpu"="znver4""#, left),
            (X86, r#""target-features"="+avxneconvert""#, left),
        ],
    );
    let body = given("bfloat", "0xR0080")
        + "%number = fmul bfloat %given, 0xR3E80 %r = bitcast bfloat %number to i16";
    check(
        &body,
        &[
            (X86, "", folded),
            (X86, r#""target-cpu"="znver4""#, "fmul bfloat"),
        ],
    );
}

#[test]
fn short_numbers_are_multiplied_and_added_as_code_generation_does() {
    // The product is between 0x3fc1 and 0x3fc2, and what is added is too small for `float` to see.
    let body = given("bfloat", "0xRAB80")
        + "%number = call bfloat @llvm.fma.bf16(bfloat 0xR3F81, bfloat 0xR3FC0, bfloat %given)
           %r = bitcast bfloat %number to i16";
    let (once, twice) = ("ret i16 16321", "ret i16 16322");
    check(
        &body,
        &[
            (X86, "", twice),
            (
                X86,
                r#""target-features"="+avx10.2-512""#,
                "call bfloat @llvm.fma",
            ),
            (NVIDIA, r#""target-cpu"="sm_75""#, twice),
            (NVIDIA, r#""target-cpu"="sm_80""#, once),
        ],
    );
}

#[test]
fn half_numbers_that_are_multiplied_and_added_are_not_folded() {
    let body = given("half", "0xH0001")
        + "%number = call half @llvm.fma.f16(half 0xH3C01, half 0xH3E00, half %given)
           %r = bitcast half %number to i16";
    for (attributes, is_folded) in [("", false), (r#""target-features"="+avx512fp16""#, true)] {
        let text = settled(X86, attributes, &body);
        assert_eq!(text.contains("call half @llvm.fma.f16"), !is_folded, "{text}");
    }
}

#[test]
fn integers_of_unusual_sizes_are_left_to_code_generation() {
    for (target, bits, is_folded) in [(X86, 16, true), (X86, 12, false), (ARM, 16, false)] {
        let extension = if bits == 16 {
            "add i16 %narrow, 0"
        } else {
            "zext i12 %narrow to i16"
        };
        let body =
            given("float", "70000.0") + &format!("%narrow = fptoui float %given to i{bits} %r = {extension}");
        let text = settled(target, "", &body);
        assert_eq!(text.contains("ret i16 4464"), is_folded, "{text}");
        let context = Context::create();
        assert_eq!(
            has_conversions_of_processor(&parse(&context, &text)),
            !is_folded,
            "{text}"
        );
    }
}

#[test]
fn very_small_numbers_are_what_the_processor_makes_of_them() {
    let body =
        given("half", "0xH0400") + "%number = fmul half %given, 0xH3800 %r = bitcast half %number to i16";
    let attributes = r#""denormal-fp-math"="preserve-sign,preserve-sign" "denormal-fp-math-f32"="ieee""#;
    let text = settled(X86, attributes, &body);
    assert!(text.contains("ret i16 512"), "{text}");
}

#[test]
fn a_processor_multiplies_and_adds_at_once_if_its_name_says_so() {
    initialize_hosts();
    for (target, attributes, kind, is_fused) in [
        (X86, r#""target-cpu"="haswell""#, "double", true),
        (
            X86,
            r#""target-cpu"="haswell" "target-features"="-fma""#,
            "double",
            false,
        ),
        (
            X86,
            r#""target-cpu"="haswell" "target-features"="-avx""#,
            "double",
            false,
        ),
        (
            X86,
            r#""target-cpu"="x86-64" "target-features"="+fma""#,
            "double",
            true,
        ),
        (X86, r#""target-cpu"="sapphirerapids""#, "half", true),
        (X86, "", "double", false),
        (ARM, "", "double", true),
        (ARM, "", "half", false),
        (ARM, r#""target-features"="+fullfp16""#, "half", true),
    ] {
        let bits = if kind == "half" { 16 } else { 64 };
        let context = Context::create();
        let code = format!(
            r#"target triple = "{target}"
            declare {kind} @llvm.fmuladd.f{bits}({kind}, {kind}, {kind})
            define {kind} @f({kind} %a) {attributes} {{
              %r = call {kind} @llvm.fmuladd.f{bits}({kind} %a, {kind} %a, {kind} %a)
              ret {kind} %r
            }}"#
        );
        let module = parse(&context, &code);
        fuse_operations(&module);
        expand_operations(&module);
        let text = module.to_string();
        let expected = if is_fused { "@llvm.fma." } else { "= fmul" };
        assert!(text.contains(expected), "{target} {attributes}: {text}");
    }
}
