; Link-time preparation, looked at as IR: the base image keeps each kernel's name for a stub and announces slots and anchors;
; the variant module owns no mutable state.
; RUN: rm -rf %t && mkdir -p %t && cd %t
; RUN: %llvm_bin/llvm-as %s -o in.bc
; RUN: %wrapgen_bitcode jit-prepare --verbose -o base.bc --bundle out.jit in.bc 2>&1 | FileCheck --check-prefix=REMARK %s
; RUN: %llvm_bin/opt -passes=verify -S base.bc -o - | FileCheck %s
; RUN: python3 %S/Inputs/bundle_bitcode.py out.jit variant.bc matched.bc | FileCheck --check-prefix=BUNDLE %s
; RUN: %llvm_bin/opt -passes=verify -S variant.bc -o - | FileCheck --check-prefix=VARIANT --implicit-check-not=llvm.used --implicit-check-not='@not_reached' %s
; RUN: %llvm_bin/opt -passes=verify -S matched.bc -o - | FileCheck --check-prefix=MATCHED --implicit-check-not=.internalized %s

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; REMARK-DAG: remark: __omp_offloading_1_2_f_l3: the JIT may specialise it
; REMARK-DAG: remark: __omp_offloading_1_2_f_l9: stays ahead of time: its parameter 1 is neither a pointer nor a 64-bit integer
; REMARK-DAG: remark: __omp_offloading_1_2_f_l11: stays ahead of time: it uses the thread-local variable `own`
; REMARK-DAG: remark: __omp_offloading_1_2_f_l12: stays ahead of time: it uses the indirect function (ifunc) `chosen_at_load`

; BUNDLE: kernel __omp_offloading_1_2_f_l3{{$}}
; BUNDLE-NEXT: parameter 0: launch environment, 8 bytes, uses 0x0, 0 bytes of contents
; BUNDLE-NEXT: parameter 1: pointer, 8 bytes, uses 0x0, 0 bytes of contents
; BUNDLE-NEXT: parameter 2: scalar, 8 bytes, uses 0x0, 0 bytes of contents
; BUNDLE-NOT: kernel
; BUNDLE: anchor __offloom_anchor_0
; BUNDLE-DAG: anchor external_function
; BUNDLE-DAG: anchor maybe
; BUNDLE-DAG: anchor __omp_offloading_1_2_f_l3.ahead_of_time

$comdat_constant = comdat any

@exported = protected global i32 5, align 4
@local = internal global i64 7, align 8
@comdat_constant = linkonce_odr protected constant i32 11, comdat, align 4
@table = internal constant [1 x ptr] [ptr @compared], align 8
@reference = weak global ptr null, align 8
@own = thread_local global i32 0, align 4
@not_reached = internal global i32 1, align 4
@.offloading.entry.exported = weak constant { ptr } { ptr @exported }, section "omp_offloading_entries", align 1
@llvm.used = appending global [1 x ptr] [ptr @not_reached], section "llvm.metadata"
@chosen_at_load = internal ifunc void (), ptr @resolver
@other_name = hidden alias void (), ptr @helper

; The base image's module.
; CHECK: @offloom.jit.slots = internal global { { ptr, ptr, ptr, ptr, ptr, i32, i32, [16 x i8] } } {
; CHECK-SAME: { ptr null, ptr null, ptr null, ptr null, ptr @__omp_offloading_1_2_f_l3.ahead_of_time, i32 0, i32 3, [16 x i8] zeroinitializer } }, align 64
; CHECK: @offloom.jit.anchors = internal constant
; CHECK-SAME: ptr @exported
; CHECK-SAME: ptr @__omp_offloading_1_2_f_l3.ahead_of_time
; CHECK: @offloom.jit.announcement = internal constant { i32, i32, [16 x i8], ptr, ptr, i64 } { i32 4, i32 1, [16 x i8] c"{{.*}}", ptr @offloom.jit.slots, ptr @offloom.jit.anchors, i64 {{[0-9]+}} }
; CHECK: @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 101, ptr @offloom.jit.announce, ptr null }]
; CHECK: @llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 101, ptr @offloom.jit.withdraw, ptr null }]

; CHECK: define internal void @__omp_offloading_1_2_f_l3.ahead_of_time(ptr noalias noundef %dyn, ptr noundef %p, i64 noundef %n) #[[BODY:[0-9]+]] {
; CHECK: define weak_odr protected void @__omp_offloading_1_2_f_l9(ptr %dyn, double %x)
; CHECK: define weak_odr protected void @__omp_offloading_1_2_f_l3(ptr noalias noundef %0, ptr noundef %1, i64 noundef %2) #[[NAKED:[0-9]+]] {
; CHECK-NEXT: entry:
; CHECK-NEXT: call void asm sideeffect "movq ${0:c}+0(%rip), %rax\0A
; CHECK-SAME: "i,i,i"(ptr @offloom.jit.slots, ptr @offloom.jit.other_keys, ptr @offloom.jit.look_up)
; CHECK-NEXT: unreachable
; Kernels of so many parameters share these, whatever their types.
; CHECK: define internal void @offloom.jit.look_up(ptr nest %0, i64 %1, i64 %2, i64 %3) {{.*}}{
; CHECK-NEXT: entry:
; CHECK-NEXT: %arguments = alloca { i64, i64, i64 }
; CHECK-NEXT: [[DISPATCH:%.+]] = getelementptr inbounds {{.*}}, ptr %0, i32 0, i32 1
; CHECK-NEXT: %dispatch = load atomic ptr, ptr [[DISPATCH]] acquire, align 8
; CHECK: %choice = call { ptr, i64 } %dispatch(ptr %0, ptr %arguments)
; CHECK: chosen:
; CHECK-NEXT: br i1 {{.*}}, label %kept, label %timed
; CHECK: declined:
; CHECK-NEXT: br i1 {{.*}}, label %left, label %observed
; CHECK: kept:
; CHECK: tail call void %code(i64 %{{.+}}, i64 %{{.+}}, i64 %{{.+}})
; CHECK-NEXT: ret void
; CHECK: timed:
; CHECK: {{^ *}}call void %code(i64 %{{.+}}, i64 %{{.+}}, i64 %{{.+}})
; CHECK-NEXT: br label %finish
; CHECK: left:
; CHECK: %body = load ptr, ptr
; CHECK: tail call void %body(i64 %{{.+}}, i64 %{{.+}}, i64 %{{.+}})
; CHECK-NEXT: ret void
; CHECK: observed:
; CHECK: [[OBSERVED:%body.*]] = load ptr, ptr
; CHECK: {{^ *}}call void [[OBSERVED]](i64 %{{.+}}, i64 %{{.+}}, i64 %{{.+}})
; CHECK-NEXT: br label %finish
; CHECK: finish:
; CHECK: %finished = load atomic ptr, ptr {{.+}} acquire, align 8
; CHECK-NEXT: call void %finished(ptr %0, i64 %ticket)
; CHECK: ahead_of_time:
; CHECK: [[BODY_ALONE:%body.*]] = load ptr, ptr
; CHECK-NEXT: tail call void [[BODY_ALONE]](i64 %1, i64 %2, i64 %3)
; CHECK: define internal void @offloom.jit.other_keys() #[[NAKED]] {
; CHECK-NEXT: entry:
; CHECK-NEXT: call void asm sideeffect "{{.*}}", "i"(ptr @offloom.jit.look_up)
; CHECK-NEXT: unreachable
; CHECK: declare extern_weak void @offloom_jit_announce_image(ptr)
; CHECK: declare extern_weak void @offloom_jit_withdraw_image(ptr)
; CHECK-DAG: attributes #[[BODY]] = {{.*}}noinline
; CHECK-DAG: attributes #[[NAKED]] = {{.*}}naked

; The variant module. Mutable variables are declared, constants and functions whose address matters available externally.
; VARIANT-DAG: @__offloom_anchor_{{[0-9]+}} = external global i32, align 4
; VARIANT-DAG: @__offloom_anchor_{{[0-9]+}} = external global i64, align 8
; VARIANT-DAG: @__offloom_anchor_{{[0-9]+}} = external global ptr, align 8
; VARIANT-DAG: @__offloom_anchor_{{[0-9]+}} = available_externally constant i32 11, align 4
; VARIANT-DAG: @__offloom_anchor_{{[0-9]+}} = available_externally constant [1 x ptr] [ptr @[[COMPARED:__offloom_anchor_[0-9]+]]], align 8

define weak_odr protected void @__omp_offloading_1_2_f_l3(ptr noalias noundef %dyn, ptr noundef %p, i64 noundef %n) alwaysinline norecurse {
; VARIANT: define void @__omp_offloading_1_2_f_l3({{.*}}) #[[KERNEL:[0-9]+]] {
; VARIANT: call i32 @[[CLONE:compared.*]](i32
; VARIANT: icmp eq ptr %{{.*}}, @[[COMPARED]]
; VARIANT: call void @helper()
; The one for equal bits has the early half of the pipeline behind it.
; MATCHED: define void @__omp_offloading_1_2_f_l3(
; MATCHED: !offloom.bits_matched = !{
; VARIANT: call void @__offloom_anchor_
; VARIANT: call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 0, ptr @outlined)
; VARIANT: call void @external_function()
; VARIANT: call ptr @__kmpc_omp_task_alloc(ptr null, i32 0, i32 1, i64 40, i64 8, ptr @[[TASK:__offloom_anchor_[0-9]+]])
; VARIANT: call void @__kmpc_taskloop({{.*}}, ptr @[[DUPLICATE:__offloom_anchor_[0-9]+]])
; VARIANT: icmp eq ptr @maybe, null
  %a = load i32, ptr @exported
  %b = call i32 @compared(i32 %a)
  %f = load ptr, ptr @table
  %same = icmp eq ptr %f, @compared
  %c = load i32, ptr @comdat_constant
  %r = load ptr, ptr @reference
  store i64 %n, ptr @local
  call void @other_name()
  call void @replaceable()
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 0, ptr @outlined)
  call void @external_function()
  %task = call ptr @__kmpc_omp_task_alloc(ptr null, i32 0, i32 1, i64 40, i64 8, ptr @task_entry)
  call void @__kmpc_taskloop(ptr null, i32 0, ptr %task, i32 1, ptr %p, ptr %p, i64 1, i32 1, i32 0, i64 0, ptr @duplicate)
  call void @hands_on(ptr @handed_on)
  %there = icmp eq ptr @maybe, null
  %s1 = select i1 %same, i32 %b, i32 %c
  %s2 = select i1 %there, i32 %s1, i32 0
  store i32 %s2, ptr %p
  store ptr %r, ptr %p
  ret void
}

; VARIANT-DAG: define available_externally i32 @[[COMPARED]](i32 %x)
; VARIANT-DAG: define internal i32 @[[CLONE]](i32 %x)
define hidden i32 @compared(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}

; VARIANT-DAG: define internal void @helper()
define hidden void @helper() noinline {
  call void @external_function()
  ret void
}

define weak void @replaceable() {
  ret void
}

; VARIANT-DAG: define internal void @outlined(
define internal void @outlined(ptr %tid, ptr %bound) {
  store i64 1, ptr @local
  ret void
}

; Called when the kernel may have returned, and the variant be gone.
; VARIANT-DAG: define available_externally i32 @[[TASK]](
define internal i32 @task_entry(i32 %thread, ptr %task) {
  store i64 2, ptr @local
  ret i32 0
}

; VARIANT-DAG: define available_externally void @[[DUPLICATE]](
define internal void @duplicate(ptr %to, ptr %from, i32 %last) {
  store i64 3, ptr @local
  ret void
}

; VARIANT-DAG: define internal void @hands_on(
define internal void @hands_on(ptr %later) noinline {
  call void @keeps(ptr %later)
  ret void
}

; VARIANT-DAG: define available_externally void @__offloom_anchor_
define internal void @handed_on() {
  store i64 4, ptr @local
  ret void
}

; VARIANT-DAG: declare void @external_function()
declare hidden void @external_function()
; VARIANT-DAG: declare extern_weak void @maybe()
; VARIANT-DAG: attributes #[[KERNEL]] = { {{.*}}"offloom-ahead-of-time"="__omp_offloading_1_2_f_l3.ahead_of_time"
declare extern_weak void @maybe()
declare !callback !0 void @__kmpc_fork_call(ptr, i32, ptr, ...)
declare ptr @__kmpc_omp_task_alloc(ptr, i32, i32, i64, i64, ptr)
declare void @keeps(ptr)
declare void @__kmpc_taskloop(ptr, i32, ptr, i32, ptr, ptr, i64, i32, i32, i64, ptr)

define internal ptr @resolver() {
  ret ptr @compared
}

define weak_odr protected void @__omp_offloading_1_2_f_l9(ptr %dyn, double %x) {
  ret void
}

define weak_odr protected void @__omp_offloading_1_2_f_l11(ptr %dyn) {
  %a = call ptr @llvm.threadlocal.address.p0(ptr @own)
  store i32 1, ptr %a
  ret void
}

define weak_odr protected void @__omp_offloading_1_2_f_l12(ptr %dyn) {
  call void @chosen_at_load()
  ret void
}

declare ptr @llvm.threadlocal.address.p0(ptr)

!0 = !{!1}
!1 = !{i64 2, i64 -1, i64 -1, i1 true}

!llvm.module.flags = !{!2, !3}
!2 = !{i32 7, !"openmp", i32 51}
!3 = !{i32 7, !"openmp-device", i32 51}
