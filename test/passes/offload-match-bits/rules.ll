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
declare double @pow(double, double)
declare float @sinhf(float)
declare double @llvm.fmuladd.f64(double, double, double)
declare double @llvm.minnum.f64(double, double)
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
; SOURCE-NEXT: ret float 0x
; MATCH-LABEL: @folded(
; MATCH: call float @sinhf(float 5.000000e-01)
define float @folded(float %x) {
  %r = call float @sinhf(float %x)
  ret float %r
}

; MATCH-LABEL: @folded_in_source(
; MATCH-NEXT: ret float 0x
define float @folded_in_source() {
  %r = call float @sinhf(float 0.5)
  ret float %r
}

; With s = 0.1 the fused result is not zero.
; SOURCE-LABEL: @fused(
; SOURCE-NEXT: ret double 0x
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

; Correctly rounded: folded as ever.
; MATCH-LABEL: @root(
; MATCH-NEXT: ret double 3.0
define double @root(double %x) {
  %r = call double @llvm.sqrt.f64(double %x)
  ret double %r
}

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
