; What LLVM makes of constructors and destructors for NVPTX is found by the runtime through an image's symbols, so it stays.

; RUN: %opt -load-pass-plugin %passes -passes='nvptx-lower-ctor-dtor,offload-internalize,globaldce,verify' -S %s | FileCheck %s

; CHECK-DAG: @__init_array_object_construct_{{[0-9a-f]+}}_1 = protected addrspace(4) constant ptr @construct
; CHECK-DAG: @__fini_array_object_destroy_{{[0-9a-f]+}}_1 = protected addrspace(4) constant ptr @destroy
; CHECK-DAG: @__init_array_start = weak protected
; CHECK-DAG: @__init_array_end = weak protected
; CHECK-DAG: @__fini_array_start = weak protected
; CHECK-DAG: @__fini_array_end = weak protected
; CHECK-DAG: define internal void @construct()
; CHECK-DAG: define internal void @destroy()
; CHECK-DAG: define weak_odr {{(ptx_kernel )?}}void @"nvptx$device$init"()
; CHECK-DAG: define weak_odr {{(ptx_kernel )?}}void @"nvptx$device$fini"()

target triple = "nvptx64-nvidia-cuda"

@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @construct, ptr null }]
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @destroy, ptr null }]

define hidden void @construct() {
  ret void
}

define hidden void @destroy() {
  ret void
}
