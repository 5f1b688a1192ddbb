; LLVM 23's kernels for processors have one parameter: a list of the addresses of their arguments. The kernel of a marked function
; reads it, and values from their first bytes. On GPUs, arguments are parameters, the launch environment the last of them.
; REQUIRES: llvm-23
; RUN: %opt -load-pass-plugin %passes -passes=offload-device,verify -S < %s -o %t.ll
; RUN: FileCheck %s --check-prefixes=CHECK,LIST --input-file=%t.ll
; RUN: %opt -load-pass-plugin %passes -passes=offload-device,verify -S < %t.ll | diff %t.ll -
; RUN: sed s/x86_64-unknown-linux-gnu/aarch64-unknown-linux-gnu/ %s | %opt -load-pass-plugin %passes -passes=offload-device,verify -S | FileCheck %s --check-prefixes=CHECK,LIST
; RUN: sed -e s/x86_64-unknown-linux-gnu/nvptx64-nvidia-cuda/ -e "/^define.*in_final_form/,/^}/d" %s | %opt -load-pass-plugin %passes -passes=offload-device,verify -S | FileCheck %s --check-prefixes=CHECK,GPU
target triple = "x86_64-unknown-linux-gnu"

; LIST-DAG: @.offloading.entry.__omp_offloading_0_0_f_l0 = weak constant %struct.__tgt_offload_entry {{.*}}ptr @__omp_offloading_0_0_f_l0,
; LIST-DAG: @.offloading.entry.__omp_offloading_0_0_in_final_form_l0 = weak constant %struct.__tgt_offload_entry {{.*}}ptr @__omp_offloading_0_0_in_final_form_l0,

; CHECK: define hidden void @f(
define void @f(i16 signext %small, float %a, ptr noalias %p) section ".offload.kernel" {
  store float %a, ptr %p
  ret void
}

; LIST: define weak_odr protected void @__omp_offloading_0_0_in_final_form_l0(ptr %list)
define void @__omp_offloading_0_0_in_final_form_l0(ptr %list) {
  %address = load ptr, ptr %list
  %p = load ptr, ptr %address
  store i32 1, ptr %p
  ret void
}

; LIST: define weak_odr protected void @__omp_offloading_0_0_f_l0(ptr noalias noundef %arguments) [[K:#[0-9]+]] {
; LIST-DAG: [[SMALL:%.*]] = load i16, ptr
; LIST-DAG: [[FLOAT:%.*]] = load float, ptr
; LIST: call void @f(i16 signext [[SMALL]], float [[FLOAT]], ptr noalias {{.*}})
; LIST: ret void
; LIST: attributes [[K]] = { norecurse }
; GPU: define weak_odr protected ptx_kernel void @__omp_offloading_0_0_f_l0(i64 noundef %small, i64 noundef %a, ptr noundef %p, ptr noalias noundef %dyn_ptr)
