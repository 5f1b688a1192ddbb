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
; CHECK: @y = protected global [2 x i32]
@y = global [2 x i32] zeroinitializer, section ".offload.to"
; CHECK: @needed_by_y = protected global i32 0
@needed_by_y = global i32 0
@host_copy_of_y = global [2 x i32] zeroinitializer

; CHECK: @annotation = private constant [5 x i8] c"mine\00"
; A constructor stays if it works on a variable that stays.
; CHECK: @llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @make_x, ptr null }, { i32, ptr, ptr } { i32 65535, ptr @_GLOBAL__sub_I_file.cpp, ptr null }]
; DEVICE: @llvm.global_ctors = appending global [4 x
@llvm.global_ctors = appending global [4 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @make_host, ptr null }, { i32, ptr, ptr } { i32 65535, ptr @make_x, ptr null }, { i32, ptr, ptr } { i32 65535, ptr @_GLOBAL__sub_I_file.cpp, ptr null }, { i32, ptr, ptr } { i32 65535, ptr @_GLOBAL__sub_I_host.cpp, ptr null }]
; CHECK: @llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @destroy_y, ptr @y }]
; CHECK: @llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @in_kernel, ptr @annotation, ptr @annotation, i32 2, ptr null }], section "llvm.metadata"
@llvm.global_dtors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @destroy_y, ptr @y }, { i32, ptr, ptr } { i32 65535, ptr @make_host, ptr null }]
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

; A function that calls the initialisers of a file keeps those of variables that stay, and of what these need in turn. An initialiser of
; another variable, that only reads one that stays, goes, and so does what hands it to others.
; CHECK: define internal void @init_y()
define internal void @init_y() {
  %v = load i32, ptr @needed_by_y
  br label %loop
loop:
  %element = phi ptr [ @y, %0 ], [ %next, %loop ]
  store i32 %v, ptr %element
  %next = getelementptr i32, ptr %element, i64 1
  %done = icmp eq ptr %next, getelementptr (i32, ptr @y, i64 2)
  br i1 %done, label %end, label %loop
end:
  ret void
}
; CHECK: define internal void @init_needed_by_y()
define internal void @init_needed_by_y() {
  call void @construct(ptr @needed_by_y)
  ret void
}
; CHECK: define hidden void @construct(
define void @construct(ptr %p) {
  store i32 1, ptr %p
  ret void
}
; CHECK: define internal void @destroy_y()
define internal void @destroy_y() {
  store i32 0, ptr @y
  ret void
}
define internal void @init_host_copy_of_y() {
  call void @llvm.memcpy.p0.p0.i64(ptr @host_copy_of_y, ptr @y, i64 8, i1 false)
  ret void
}
; CHECK: define internal void @_GLOBAL__sub_I_file.cpp()
; CHECK-NEXT: call void @init_needed_by_y()
; CHECK-NEXT: call void @init_y()
; CHECK-NEXT: ret void
define internal void @_GLOBAL__sub_I_file.cpp() {
  call void @init_needed_by_y()
  call void @make_host()
  call void @init_y()
  call void @init_host_copy_of_y()
  ret void
}
define internal void @init_by_others() {
  %copy = alloca [2 x i32]
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr @y, i64 8, i1 false)
  call void @host_library(ptr %copy)
  call void @host_registry(ptr @host_annotation, ptr @y)
  call void @host_reader(i32 1, ptr readonly @y)
  call void @host_taker(i32 1, ptr byval([2 x i32]) @y)
  ret void
}
declare void @host_registry(ptr, ptr)
define internal void @host_reader(i32 %v, ptr %p) {
  call void @host_library(ptr %p)
  ret void
}
define internal void @host_taker(i32 %v, ptr byval([2 x i32]) %p) {
  call void @host_library(ptr %p)
  ret void
}
define internal void @_GLOBAL__sub_I_host.cpp() {
  call void @make_host()
  call void @init_by_others()
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
  call void asm sideeffect "call named_by_assembly; call \22named in quotes\22; pushq $$operand; pushq $$with$$dollar", "~{memory}"()
  ret void
}
; What assembly names stays with it, and what the module's assembly names, which stays itself.
; CHECK: define internal void @named_by_assembly()
define internal void @named_by_assembly() {
  call void @needed_by_assembly()
  ret void
}
; CHECK: define internal void @needed_by_assembly()
define internal void @needed_by_assembly() {
  ret void
}
; CHECK: define internal void @"named in quotes"()
define internal void @"named in quotes"() {
  ret void
}
; CHECK: define internal void @operand()
define internal void @operand() {
  ret void
}
; CHECK: define internal void @"with$dollar"()
define internal void @"with$dollar"() {
  ret void
}
; CHECK: define internal void @named_by_module()
define internal void @named_by_module() {
  ret void
}
module asm ".set other_name, named_by_module"
define internal void @host_in_assembly() {
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
  call void asm sideeffect "call host_in_assembly", "~{memory}"()
  ret i32 0
}
declare void @host_library(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
@host_alias = alias ptr, ptr @host_table
@host_chosen = ifunc void (), ptr @host_resolver
define ptr @host_resolver() {
  ret ptr @host_recursive
}
@host_annotation = private constant [5 x i8] c"text\00"
@annotation = private constant [5 x i8] c"mine\00"
; CHECK-NOT: region_id
; Metadata and annotations lose what is removed, and no more.
; CHECK: = distinct !{null, !"about"}
; CHECK: !{i32 7, !"openmp-device", i32 51}
; DEVICE: !{i32 7, !"openmp-device", i32 52}
; DEVICE-NOT: "openmp-device"

@llvm.global.annotations = appending global [2 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @host_recursive, ptr @host_annotation, ptr @host_annotation, i32 1, ptr null }, { ptr, ptr, ptr, i32, ptr } { ptr @in_kernel, ptr @annotation, ptr @annotation, i32 2, ptr null }], section "llvm.metadata"
!some.metadata = !{!1}
!1 = !{ptr @main, !"about"}
