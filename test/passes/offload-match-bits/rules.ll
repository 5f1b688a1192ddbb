; Each rewrite that changes bits when an argument is a constant: LLVM does it (SOURCE), and does not in the mode `match` (MATCH).
; RUN: split-file %s %t
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize<mode=source;descriptor=kernel=square;arch=x86-64;1=double:2>,offload-specialize<mode=source;descriptor=kernel=folded;arch=x86-64;0=float:0.5>,offload-specialize<mode=source;descriptor=kernel=fused;arch=x86-64;0=double:0.1>,offload-specialize<mode=source;descriptor=kernel=root;arch=x86-64;0=double:9>,default<O3>' -S %t/x86.ll | FileCheck %s --check-prefix=SOURCE
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=kernel=square;arch=x86-64;1=double:2>,offload-specialize<descriptor=kernel=folded;arch=x86-64;0=float:0.5>,offload-specialize<mode=match;descriptor=kernel=fused;arch=x86-64;0=double:0.1>,offload-specialize<descriptor=kernel=root;arch=x86-64;0=double:9>,verify,default<O3>' -S %t/x86.ll | FileCheck %s --check-prefix=MATCH
; RUN: not %opt -load-pass-plugin %passes -passes=offload-match-bits %t/fast.ll -S -o %t/out.ll 2>&1 | FileCheck %s --check-prefix=FAST
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=kernel=uses_sum;arch=x86-64>' %t/fast.ll -S -o %t/out.ll 2>&1 | FileCheck %s --check-prefix=FAST
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=kernel=exact;arch=x86-64>' %t/fast.ll -S -o %t/out.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize<mode=source;descriptor=kernel=uses_sum;arch=x86-64>' %t/fast.ll -S -o %t/out.ll
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize<mode=fast;descriptor=kernel=exact;arch=x86-64>' %t/fast.ll -S -o %t/out.ll 2>&1 | FileCheck %s --check-prefix=MODE

;--- x86.ll
target triple = "x86_64-pc-linux-gnu"
declare double @pow(double, double) memory(none)
declare float @sinhf(float)
declare double @llvm.fmuladd.f64(double, double, double)
declare double @llvm.experimental.constrained.fmuladd.f64(double, double, double, metadata, metadata)
declare x86_fp80 @llvm.fmuladd.f80(x86_fp80, x86_fp80, x86_fp80)
declare half @llvm.fmuladd.f16(half, half, half)
declare double @llvm.minnum.f64(double, double)
declare half @llvm.minnum.f16(half, half)
declare <2 x half> @llvm.minnum.v2f16(<2 x half>, <2 x half>)
declare x86_fp80 @llvm.maxnum.f80(x86_fp80, x86_fp80)
declare fp128 @llvm.minnum.f128(fp128, fp128)
declare double @llvm.sqrt.f64(double)

; SOURCE-LABEL: @square(
; SOURCE: fmul double %x, %x
; MATCH-LABEL: @square(
; MATCH: call double @pow(double %x, double 2.000000e+00)
define double @square(double %x, double %y) {
  %r = call double @pow(double %x, double %y)
  ret double %r
}

; What the source's own constants allow, the ahead-of-time code has too.
; MATCH-LABEL: @square_in_source(
; MATCH: fmul double %x, %x
define double @square_in_source(double %x) {
  %r = call double @pow(double %x, double 2.0)
  ret double %r
}

; SOURCE-LABEL: @folded(
; SOURCE-NEXT: ret float {{f?}}0x
; MATCH-LABEL: @folded(
; MATCH: call float @sinhf(float 5.000000e-01)
define float @folded(float %x) {
  %r = call float @sinhf(float %x)
  ret float %r
}

; MATCH-LABEL: @folded_in_source(
; MATCH-NEXT: ret float {{f?}}0x
define float @folded_in_source() {
  %r = call float @sinhf(float 0.5)
  ret float %r
}

; With s = 0.1 the fused result is not zero.
; SOURCE-LABEL: @fused(
; SOURCE-NEXT: ret double {{f?}}0x
; MATCH-LABEL: @fused(
; MATCH-NEXT: ret double 0.000000e+00
define double @fused(double %s) {
  %p = fmul double %s, %s
  %n = fneg double %p
  %r = call double @llvm.fmuladd.f64(double %s, double %s, double %n)
  ret double %r
}

; A processor with FMA fuses both variables and constants, and no pass may take that apart.
; MATCH-LABEL: @has_fused(
; MATCH: call double @llvm.fma.f64
define double @has_fused(double %x, double %y) "target-features"="+avx,+fma" {
  %r = call double @llvm.fmuladd.f64(double %x, double %x, double %y)
  ret double %r
}

; SOURCE-LABEL: @least(
; SOURCE: call double @llvm.minnum
; MATCH-LABEL: @least(
; MATCH-NOT: minnum
; MATCH: fcmp
; MATCH: ret
define double @least(double %x, double %y) {
  %r = call double @llvm.minnum.f64(double %x, double %y)
  ret double %r
}

; With its rounding and exceptions, where they are named.
; MATCH-LABEL: @strict(
; MATCH: %[[PRODUCT:.*]] = {{.*}}call double @llvm.experimental.constrained.fmul.f64(double %x, double %x, metadata !"round.dynamic", metadata !"fpexcept.maytrap")
; MATCH: call double @llvm.experimental.constrained.fadd.f64(double %[[PRODUCT]], double %y, metadata !"round.dynamic", metadata !"fpexcept.maytrap")
define double @strict(double %x, double %y) strictfp {
  %r = call double @llvm.experimental.constrained.fmuladd.f64(double %x, double %x, double %y, metadata !"round.dynamic", metadata !"fpexcept.maytrap") strictfp
  ret double %r
}

; MATCH-LABEL: @strict_fused(
; MATCH: call double @llvm.experimental.constrained.fma.f64(double %x, double %x, double %y, metadata !"round.dynamic", metadata !"fpexcept.maytrap")
define double @strict_fused(double %x, double %y) strictfp "target-features"="+avx,+fma" {
  %r = call double @llvm.experimental.constrained.fmuladd.f64(double %x, double %x, double %y, metadata !"round.dynamic", metadata !"fpexcept.maytrap") strictfp
  ret double %r
}

; FMA is for `float` and `double`, FMA4 too.
; MATCH-LABEL: @never_fused(
; MATCH: fmul x86_fp80
; MATCH: fadd x86_fp80
define x86_fp80 @never_fused(x86_fp80 %x, x86_fp80 %y) "target-features"="+avx,+fma" {
  %r = call x86_fp80 @llvm.fmuladd.f80(x86_fp80 %x, x86_fp80 %x, x86_fp80 %y)
  ret x86_fp80 %r
}

; MATCH-LABEL: @other_fused(
; MATCH: call double @llvm.fma.f64
define double @other_fused(double %x, double %y) "target-features"="+avx,+fma4" {
  %r = call double @llvm.fmuladd.f64(double %x, double %x, double %y)
  ret double %r
}

; MATCH-LABEL: @half(
; MATCH: fmul half
; MATCH: fadd half
; MATCH: %[[X:.*]] = fpext half %x to float
; MATCH: %[[CHOSEN:.*]] = {{.*}}call float @fminf(float %[[X]], float -0.000000e+00)
; MATCH: fptrunc float %[[CHOSEN]] to half
define half @half(half %x, half %y) "target-features"="+avx,+fma" {
  %sum = call half @llvm.fmuladd.f16(half %x, half %x, half %y)
  store volatile half %sum, ptr null
  %r = call half @llvm.minnum.f16(half -0.0, half %x)
  ret half %r
}

; MATCH-LABEL: @half_in_hardware(
; MATCH: call half @llvm.fma.f16
; MATCH-NOT: call
; MATCH: select
define half @half_in_hardware(half %x, half %y) "target-features"="+avx,+fma,+avx512fp16" {
  %sum = call half @llvm.fmuladd.f16(half %x, half %x, half %y)
  %r = call half @llvm.minnum.f16(half %sum, half %x)
  ret half %r
}

; A function of C's library, by whose name LLVM does not fold: of two zeros it takes its own.
; MATCH-LABEL: @wide(
; MATCH: call fp128 @fminf128(
; MATCH: call x86_fp80 @fmaxl(x86_fp80 %x, x86_fp80 %y)
; MATCH: call x86_fp80 @fmaxl(x86_fp80 %{{.*}}, x86_fp80 {{0xK00000000000000000000|0\.000000e\+00}})
define x86_fp80 @wide(x86_fp80 %x, x86_fp80 %y, fp128 %q) {
  %q2 = call fp128 @llvm.minnum.f128(fp128 %q, fp128 0xL00000000000000000000000000000000)
  %m = call x86_fp80 @llvm.maxnum.f80(x86_fp80 %x, x86_fp80 %y)
  %r = call x86_fp80 @llvm.maxnum.f80(x86_fp80 0xK00000000000000000000, x86_fp80 %m)
  store volatile fp128 %q2, ptr null
  ret x86_fp80 %r
}

; MATCH-LABEL: @vector(
; MATCH-COUNT-2: call float @fminf(
; MATCH-NOT: call
; MATCH: ret <2 x half>
define <2 x half> @vector(<2 x half> %x, <2 x half> %y) {
  %r = call <2 x half> @llvm.minnum.v2f16(<2 x half> %x, <2 x half> %y)
  ret <2 x half> %r
}

; What is not to be optimised is as it was, but for what code generation is not to choose.
; MATCH-LABEL: @not_optimized(
; MATCH: call double @pow(double %x, double 2.0
; MATCH: sitofp
; MATCH: fcmp uno
; MATCH: ret
define double @not_optimized(double %x, i64 %n) noinline optnone {
  %p = call double @pow(double %x, double 2.0)
  %number = sitofp i64 %n to double
  %r = call double @llvm.minnum.f64(double %p, double %number)
  ret double %r
}

; Correctly rounded: folded as ever.
; MATCH-LABEL: @root(
; MATCH-NEXT: ret double 3.0
define double @root(double %x) {
  %r = call double @llvm.sqrt.f64(double %x)
  ret double %r
}

; Nor is a later vectoriser to choose the order of a sum, which is not seen to be one yet.
; MATCH-LABEL: @sum_not_optimized(
; MATCH: br i1 %more, label %loop, label %done, !llvm.loop ![[SUM:[0-9]+]]
; MATCH: ![[SUM]] = distinct !{![[SUM]], ![[SCALAR:[0-9]+]]}
; MATCH: ![[SCALAR]] = !{!"llvm.loop.isvectorized", i32 1}
define void @sum_not_optimized(ptr %x, ptr %sum, i64 %n) noinline optnone {
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %place = getelementptr double, ptr %x, i64 %i
  %one = load double, ptr %place
  %before = load double, ptr %sum
  %after = fadd double %before, %one
  store double %after, ptr %sum
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done, !llvm.loop !0
done:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.vectorize.enable", i1 true}

;--- fast.ll
; FAST: error: {{.*}}fast.ll: {{.*}}: `sum` was compiled with fast-math or contraction flags
; MODE: error: {{.*}}fast.ll: offload-specialize: unknown mode `fast`: write `mode=match`
target triple = "x86_64-pc-linux-gnu"
define double @sum(double %x, double %y) {
  %r = fadd reassoc double %x, %y
  ret double %r
}
define double @uses_sum(double %x) {
  %r = call double @sum(double %x, double %x)
  ret double %r
}
define double @exact(double %x) {
  ret double %x
}
