; Variables of the module's own that no device code writes are constants in variants, whose loads fold; what is written, given away, kept
; for others or may be changed from outside stays a variable that lives in the base image.
; RUN: rm -rf %t && mkdir -p %t && cd %t
; RUN: %llvm_bin/llvm-as %s -o in.bc
; RUN: %wrapgen_bitcode jit-prepare -o base.bc --bundle out.jit in.bc
; RUN: python3 %S/Inputs/bundle_bitcode.py out.jit variant.bc matched.bc
; RUN: %llvm_bin/opt -passes=verify -S variant.bc -o - | FileCheck %s
; RUN: %llvm_bin/opt -passes='default<O3>' -S variant.bc -o - | FileCheck --check-prefix=FOLDED %s

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK-DAG: @__offloom_anchor_{{[0-9]+}} = available_externally constant [4 x i32] [i32 2, i32 3, i32 5, i32 7]
; CHECK-DAG: @__offloom_anchor_{{[0-9]+}} = available_externally constant i32 11
; CHECK-DAG: @__offloom_anchor_{{[0-9]+}} = available_externally constant { i32, i32 } { i32 1300, i32 1301 }
; CHECK-NOT: constant i32 {{[2-9]}}00
; CHECK-COUNT-7: @__offloom_anchor_{{[0-9]+}} = external {{.*}}global i32

@table = internal global [4 x i32] [i32 2, i32 3, i32 5, i32 7], align 4
@number = internal global i32 11, align 4
@copied = internal global { i32, i32 } { i32 1300, i32 1301 }, align 4
@written = internal global i32 200, align 4
@given_away = internal global i32 300, align 4
@stored = internal global i32 400, align 4
@volatile = internal global i32 500, align 4
@kept = internal global i32 600, align 4
@host_knows = protected global i32 700, align 4
@from_outside = internal externally_initialized global i32 800, align 4
@llvm.used = appending global [1 x ptr] [ptr @kept], section "llvm.metadata"
@.offloading.entry.host_knows = weak constant { ptr } { ptr @host_knows }, section "omp_offloading_entries", align 1

declare void @use(ptr)

; FOLDED: define {{.*}}void @__omp_offloading_1_2_f_l3(
; FOLDED: store volatile i32 11, ptr %out
; FOLDED: store volatile i32 7, ptr %out
; FOLDED: store volatile i32 1301, ptr %out
define weak_odr protected void @__omp_offloading_1_2_f_l3(ptr noalias %dyn, ptr %out, i64 %i) {
entry:
  %copy = alloca { i32, i32 }, align 4
  %a = load i32, ptr @number, align 4
  store volatile i32 %a, ptr %out, align 4
  %last = getelementptr [4 x i32], ptr @table, i64 0, i64 3
  %b = load i32, ptr %last, align 4
  store volatile i32 %b, ptr %out, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %copy, ptr align 4 @copied, i64 8, i1 false)
  %second = getelementptr i8, ptr %copy, i64 4
  %c = load i32, ptr %second, align 4
  store volatile i32 %c, ptr %out, align 4
  %any = getelementptr [4 x i32], ptr @table, i64 0, i64 %i
  %d = load i32, ptr %any, align 4
  store volatile i32 %d, ptr %out, align 4
  store i32 %a, ptr @written, align 4
  %e = load i32, ptr @written, align 4
  store volatile i32 %e, ptr %out, align 4
  %f = load i32, ptr @given_away, align 4
  store volatile i32 %f, ptr %out, align 4
  call void @use(ptr @given_away)
  %g = load i32, ptr @stored, align 4
  store volatile i32 %g, ptr %out, align 4
  store volatile ptr @stored, ptr %out, align 8
  %h = load volatile i32, ptr @volatile, align 4
  store volatile i32 %h, ptr %out, align 4
  %k = load i32, ptr @kept, align 4
  store volatile i32 %k, ptr %out, align 4
  %l = load i32, ptr @host_knows, align 4
  store volatile i32 %l, ptr %out, align 4
  %m = load i32, ptr @from_outside, align 4
  store volatile i32 %m, ptr %out, align 4
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg)
