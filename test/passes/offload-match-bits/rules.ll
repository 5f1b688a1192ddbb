; Each rewrite that changes bits when an argument is a constant: LLVM does it (FREE), and does not after the pass (MATCH).
; RUN: split-file %s %t
; RUN: %opt -passes='default<O3>' -S %t/x86.ll | FileCheck %s --check-prefix=FREE
; RUN: %opt -load-pass-plugin %passes -passes='offload-match-bits,verify,default<O3>' -S %t/x86.ll | FileCheck %s --check-prefix=MATCH
; RUN: not %opt -load-pass-plugin %passes -passes=offload-match-bits %t/fast.ll -S -o %t/out.ll 2>&1 | FileCheck %s --check-prefix=FAST

;--- x86.ll
target triple = "x86_64-pc-linux-gnu"
declare double @pow(double, double)
declare float @sinhf(float)
declare double @llvm.fmuladd.f64(double, double, double)
declare double @llvm.minnum.f64(double, double)
declare double @llvm.sqrt.f64(double)

; FREE-LABEL: @square(
; FREE: fmul double %x, %x
; MATCH-LABEL: @square(
; MATCH: call double @pow(double %x, double 2.000000e+00)
define double @square(double %x) {
  %r = call double @pow(double %x, double 2.0)
  ret double %r
}

; FREE-LABEL: @folded(
; FREE-NEXT: ret float 0x
; MATCH-LABEL: @folded(
; MATCH: call float @sinhf(float 5.000000e-01)
define float @folded() {
  %r = call float @sinhf(float 0.5)
  ret float %r
}

; With s = 0.1 the fused result is not zero.
; FREE-LABEL: @fused(
; FREE-NEXT: ret double 0x
; MATCH-LABEL: @fused(
; MATCH-NEXT: ret double 0.000000e+00
define double @fused() {
  %p = fmul double 0.1, 0.1
  %n = fneg double %p
  %r = call double @llvm.fmuladd.f64(double 0.1, double 0.1, double %n)
  ret double %r
}

; A processor with FMA fuses both variables and constants.
; MATCH-LABEL: @has_fused(
; MATCH: call double @llvm.fmuladd.f64
define double @has_fused(double %x, double %y) "target-features"="+avx,+fma" {
  %r = call double @llvm.fmuladd.f64(double %x, double %x, double %y)
  ret double %r
}

; FREE-LABEL: @least(
; FREE: call double @llvm.minnum
; MATCH-LABEL: @least(
; MATCH-NOT: minnum
; MATCH: fcmp
; MATCH: ret
define double @least(double %x, double %y) {
  %r = call double @llvm.minnum.f64(double %x, double %y)
  ret double %r
}

; Correctly rounded: folded as ever.
; MATCH-LABEL: @root(
; MATCH-NEXT: ret double 3.0
define double @root() {
  %r = call double @llvm.sqrt.f64(double 9.0)
  ret double %r
}

;--- fast.ll
; FAST: error: {{.*}}fast.ll: offload-match-bits: `sum` was compiled with fast-math or contraction flags
target triple = "x86_64-pc-linux-gnu"
define double @sum(double %x, double %y) {
  %r = fadd reassoc double %x, %y
  ret double %r
}
