; A marked function with an ordinary signature gets its kernel: the implicit parameter first, pointers as they are, everything else as
; an i64 that holds the value in its first bytes. On CPUs that is all; the function itself stays, hidden. Twice is once.
; LLVM 23 passes a list: kernel-with-list.ll.
; UNSUPPORTED: llvm-23
; RUN: %opt -load-pass-plugin %passes -passes=offload-device,verify -S < %s -o %t.ll
; RUN: FileCheck %s --input-file=%t.ll
; RUN: %opt -load-pass-plugin %passes -passes=offload-device,verify -S < %t.ll | diff %t.ll -
; RUN: %opt -load-pass-plugin %passes -passes=offload-device-module,verify -S < %s | diff %t.ll -
; RUN: %opt -load-pass-plugin %passes -passes=offload-device,offload-entries,offload-visibility,verify -S < %s | diff %t.ll -
; RUN: sed s/x86_64-unknown-linux-gnu/aarch64-unknown-linux-gnu/ %s | %opt -load-pass-plugin %passes -passes=offload-device,verify -S | FileCheck %s
; RUN: sed s/x86_64-unknown-linux-gnu/powerpc64le-unknown-linux-gnu/ %s | %opt -load-pass-plugin %passes -passes=offload-device,verify -S | FileCheck %s
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; CHECK: @counter = protected global i32 7
@counter = global i32 7, section ".offload.to"
; CHECK: @only_here = internal global i32 1
@only_here = internal global i32 1
; CHECK: @shared = protected global i32 2
@shared = global i32 2

; Entries, as in Clang's x86_64 device modules: the device's own symbols.
; CHECK-DAG: @.offloading.entry.counter = weak constant %struct.__tgt_offload_entry {{.*}}ptr @counter
; CHECK-DAG: @.offloading.entry.__omp_offloading_0_0_f_l0 = weak constant %struct.__tgt_offload_entry {{.*}}ptr @__omp_offloading_0_0_f_l0,
; CHECK-DAG: @.offloading.entry.__omp_offloading_0_0_in_final_form_l0 = weak constant %struct.__tgt_offload_entry {{.*}}ptr @__omp_offloading_0_0_in_final_form_l0,

; CHECK: define hidden void @f({{.*}}) [[F:#[0-9]+]] {
define void @f(i1 zeroext %flag, i16 signext %small, float %a, double %d, <2 x float> %pair, ptr noalias %p, [2 x i32] %both) #0 section ".offload.kernel" {
  %x = call i32 @helper(i32 1)
  store i32 %x, ptr %p
  ret void
}

; For the device code of other files.
; CHECK: define hidden i32 @helper(
define i32 @helper(i32 %x) noinline {
  %a = load i32, ptr @only_here
  %b = load i32, ptr @shared
  %c = add i32 %a, %b
  ret i32 %c
}

; A kernel by its name has its final form already.
; CHECK: define weak_odr protected void @__omp_offloading_0_0_in_final_form_l0(ptr %dyn_ptr, ptr %p)
define void @__omp_offloading_0_0_in_final_form_l0(ptr %dyn_ptr, ptr %p) {
  store i32 1, ptr %p
  ret void
}

; A function that is not inlined is called; its attributes that are about the compile go to the kernel.
; CHECK: define hidden void @g() [[G:#[0-9]+]] {
define void @g() noinline optnone "offload-entry"="kernel" "target-cpu"="x86-64" {
  ret void
}

; Marked as kernels, but defined in other files.
; CHECK-NOT: elsewhere
declare void @elsewhere() "offload-entry"="kernel"

; CHECK: define weak_odr protected void @__omp_offloading_0_0_f_l0(ptr noalias noundef %dyn_ptr, i64 noundef %flag, i64 noundef %small, i64 noundef %a, i64 noundef %d, i64 noundef %pair, ptr noundef %p, i64 noundef %both) [[K:#[0-9]+]] {
; CHECK: [[FLAG:%.*]] = alloca i64
; CHECK: store i64 %flag, ptr [[FLAG]]
; CHECK: [[SMALL:%.*]] = alloca i64
; CHECK: store i64 %small, ptr [[SMALL]]
; CHECK: [[A:%.*]] = alloca i64
; CHECK: [[D:%.*]] = alloca i64
; CHECK: [[PAIR:%.*]] = alloca i64
; CHECK: [[BOTH:%.*]] = alloca i64
; CHECK: [[BYTE:%.*]] = load i8, ptr [[FLAG]]
; CHECK: [[BIT:%.*]] = trunc i8 [[BYTE]] to i1
; CHECK: [[HALF:%.*]] = load i16, ptr [[SMALL]]
; CHECK: [[FLOAT:%.*]] = load float, ptr [[A]]
; CHECK: [[DOUBLE:%.*]] = load double, ptr [[D]]
; CHECK: [[VECTOR:%.*]] = load <2 x float>, ptr [[PAIR]]
; CHECK: [[ARRAY:%.*]] = load [2 x i32], ptr [[BOTH]]
; CHECK: call void @f(i1 zeroext [[BIT]], i16 signext [[HALF]], float [[FLOAT]], double [[DOUBLE]], <2 x float> [[VECTOR]], ptr noalias %p, [2 x i32] [[ARRAY]]) [[INLINED:#[0-9]+]]
; CHECK: ret void
; CHECK: define weak_odr protected void @__omp_offloading_0_0_g_l0(ptr noalias noundef %dyn_ptr) [[KG:#[0-9]+]] {
; CHECK: call void @g(){{$}}

; CHECK: attributes [[F]] = { {{.*}}"target-features"="+sse" }
; CHECK-DAG: attributes [[K]] = { alwaysinline {{(convergent )?}}norecurse nounwind uwtable "target-cpu"="x86-64" "target-features"="+sse" }
; CHECK-DAG: attributes [[KG]] = { alwaysinline {{(convergent )?}}norecurse "target-cpu"="x86-64" }
; CHECK-DAG: attributes [[INLINED]] = { alwaysinline }
attributes #0 = { nounwind uwtable memory(argmem: readwrite) "target-cpu"="x86-64" "target-features"="+sse" }

; CHECK: !llvm.module.flags = !{[[OPENMP:![0-9]+]], [[DEVICE:![0-9]+]]}
; CHECK: [[OPENMP]] = !{i32 7, !"openmp", i32 51}
; CHECK: [[DEVICE]] = !{i32 7, !"openmp-device", i32 51}
; CHECK-DAG: = !{i32 0, i32 0, i32 0, !"f", i32 0, i32 0, i32
; CHECK-DAG: = !{i32 1, !"counter", i32 0, i32
