; x86_64 device modules carry entries that hold the device symbols; GPU modules carry only the metadata.

; RUN: %opt -load-pass-plugin %passes -passes='offload-entries,verify' -S %s | FileCheck %s --check-prefixes=CHECK,CPU
; RUN: sed 's/x86_64-pc-linux-gnu/nvptx64-nvidia-cuda/' %s > %t.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-entries,verify' -S %t.ll | FileCheck %s --check-prefixes=CHECK,GPU

; CPU: @.offloading.entry.g = weak constant {{.*}}ptr @g, {{.*}}i64 4
; CPU: @.offloading.entry.__omp_offloading_1_2_twice_l4 = weak constant {{.*}}ptr @__omp_offloading_1_2_twice_l4, {{.*}}i64 8
; CPU: @.offloading.entry.__omp_offloading_1_2_main_l3 = weak constant {{.*}}ptr @__omp_offloading_1_2_main_l3, {{.*}}i64 0
; CPU-NOT: @.offloading.entry
; GPU-NOT: @.offloading.entry
; CHECK-NOT: region_id
; CHECK-NOT: !"stderr_decl_tgt_ref_ptr"
; CHECK-DAG: !{i32 1, !"g", i32 0, i32 0}
; CHECK-DAG: !{i32 1, !"x_decl_tgt_ref_ptr", i32 1, i32 1}
; CHECK-DAG: !{i32 1, !"__omp_offloading_1_2_twice_l4", i32 8, i32 2}
; CHECK-DAG: !{i32 0, i32 1, i32 2, !"main", i32 3, i32 0, i32 3}

target triple = "x86_64-pc-linux-gnu"

@g = protected global i32 0 #0
@x_decl_tgt_ref_ptr = weak global ptr null #1
; Made by Clang 22 where memory is shared, and listed nowhere.
@stderr_decl_tgt_ref_ptr = weak global ptr null
@__omp_offloading_1_2_twice_l4 = protected constant ptr @twice

define hidden void @twice() {
  ret void
}

define weak_odr protected void @__omp_offloading_1_2_main_l3(ptr %dyn_ptr) {
  ret void
}

define internal void @__omp_offloading_1_2_main_l3.omp_outlined() {
  ret void
}

attributes #0 = { "offload-entry"="to" }
attributes #1 = { "offload-entry"="link" }

!llvm.module.flags = !{!0}
!0 = !{i32 7, !"openmp-device", i32 51}
