; The same source compiled again, without the flag `openmp-device`: what only the host needs is removed, so that the device image does
; not need the region ids and the libraries of the program. A device module keeps all of its code.
; RUN: %opt -load-pass-plugin %passes -passes=offload-device,verify -S < %s | FileCheck %s --implicit-check-not=host
; RUN: sed 's/^;FLAGS //' %s | %opt -load-pass-plugin %passes -passes=offload-device,verify -S | FileCheck %s --check-prefix=DEVICE
target triple = "x86_64-unknown-linux-gnu"
;FLAGS !llvm.module.flags = !{!0}
;FLAGS !0 = !{i32 7, !"openmp-device", i32 52}

@.__omp_offloading_0_0_f_l0.region_id = external constant i8
@host_table = global ptr @main
@x = global i32 0, section ".offload.to"
; CHECK: @in_kernel = protected global i32 0
@in_kernel = global i32 0
@host_variable = global i32 0

; A constructor stays if it works on a variable that stays.
; CHECK: @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @make_x, ptr null }]
; DEVICE: @llvm.global_ctors = appending global [2 x
@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @make_host, ptr null }, { i32, ptr, ptr } { i32 65535, ptr @make_x, ptr null }]
; CHECK: @llvm.compiler.used = appending global [1 x ptr] [ptr @in_kernel]
@llvm.compiler.used = appending global [2 x ptr] [ptr @host_variable, ptr @in_kernel], section "llvm.metadata"

; DEVICE: define {{.*}}void @make_host()
define internal void @make_host() {
  store i32 1, ptr @host_variable
  ret void
}
; CHECK: define internal void @make_x()
define internal void @make_x() {
  store i32 1, ptr @x
  ret void
}

; CHECK: define hidden void @f(
define void @f() section ".offload.kernel" {
  call void @needed(ptr @in_kernel)
  ret void
}
; CHECK: define linkonce_odr hidden void @needed(
define linkonce_odr void @needed(ptr %p) {
  ret void
}
; CHECK: define hidden void @for_other_files()
define void @for_other_files() "offload-entry"="function" {
  ret void
}
; Recursion alone keeps nothing alive.
; DEVICE: define {{.*}}void @host_recursive()
define void @host_recursive() {
  call void @host_recursive()
  ret void
}
; DEVICE: define {{.*}}i32 @main()
; CHECK-NOT: @main
define i32 @main() {
  %id = load i8, ptr @.__omp_offloading_0_0_f_l0.region_id
  call void @host_library(ptr @host_table)
  ret i32 0
}
declare void @host_library(ptr)
@host_alias = alias ptr, ptr @host_table
@host_chosen = ifunc void (), ptr @host_resolver
define ptr @host_resolver() {
  ret ptr @host_recursive
}
@host_annotation = private constant [5 x i8] c"text\00"
; CHECK-NOT: region_id
; Metadata and annotations lose what is removed.
; CHECK: = distinct !{null, !"about"}
; CHECK: !{i32 7, !"openmp-device", i32 51}
; DEVICE: !{i32 7, !"openmp-device", i32 52}
; DEVICE-NOT: "openmp-device"

@llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @host_recursive, ptr @host_annotation, ptr @host_annotation, i32 1, ptr null }], section "llvm.metadata"
!some.metadata = !{!1}
!1 = !{ptr @main, !"about"}
