; Functions marked `ctor` and `dtor`, by attribute and by section: entries with the flags 2 and 4 on the host and on x86_64 devices, and
; for the rest as kernels. What the runtimes make of them: constructors.c.

; RUN: %opt -load-pass-plugin %passes -passes='offload-entries,verify' -S < %s -o %t.host.ll
; RUN: FileCheck %s --check-prefixes=HOST,%if llvm-19 %{HOST19%} %else %{HOST22%} < %t.host.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-entries,verify' -S < %t.host.ll | diff %t.host.ll -
; RUN: %opt -load-pass-plugin %passes -passes='offload-device<host-ir=%t.host.ll>,verify' -S < %s -o %t.device.ll
; RUN: FileCheck %s --check-prefixes=DEVICE,%if llvm-19 %{CPU19%} %else %{CPU22%} < %t.device.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-device<host-ir=%t.host.ll>,verify' -S < %t.device.ll | diff %t.device.ll -
; RUN: sed 's/x86_64-pc-linux-gnu/nvptx64-nvidia-cuda/' %s > %t.gpu.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-device,verify' -S %t.gpu.ll | FileCheck %s --check-prefixes=DEVICE,GPU

; HOST19-DAG: @.offloading.entry.__omp_offloading_0_0_construct_l0 = weak constant {{.*}} { ptr @.__omp_offloading_0_0_construct_l0.region_id, ptr @{{.*}}, i64 0, i32 2, i32 0 }
; HOST19-DAG: @.offloading.entry.__omp_offloading_0_0_destroy_l0 = weak constant {{.*}} { ptr @.__omp_offloading_0_0_destroy_l0.region_id, ptr @{{.*}}, i64 0, i32 4, i32 0 }
; HOST19-DAG: @.offloading.entry.__omp_offloading_1_2_final_l3 = weak constant {{.*}} { ptr @.__omp_offloading_1_2_final_l3.region_id, ptr @{{.*}}, i64 0, i32 2, i32 0 }
; HOST22-DAG: @.offloading.entry.__omp_offloading_0_0_construct_l0 = weak constant {{.*}} { i64 0, i16 1, i16 1, i32 2, ptr @.__omp_offloading_0_0_construct_l0.region_id, ptr @{{.*}}, i64 0, i64 0, ptr null }
; HOST22-DAG: @.offloading.entry.__omp_offloading_0_0_destroy_l0 = weak constant {{.*}} { i64 0, i16 1, i16 1, i32 4, ptr @.__omp_offloading_0_0_destroy_l0.region_id, ptr @{{.*}}, i64 0, i64 0, ptr null }
; HOST22-DAG: @.offloading.entry.__omp_offloading_1_2_final_l3 = weak constant {{.*}} { i64 0, i16 1, i16 1, i32 2, ptr @.__omp_offloading_1_2_final_l3.region_id, ptr @{{.*}}, i64 0, i64 0, ptr null }
; HOST: define void @construct() {
; HOST-NOT: offload-entry
; HOST: = !{i32 0, i32 0, i32 0, !"construct", i32 0, i32 0, i32 0}
; HOST: = !{i32 0, i32 0, i32 0, !"destroy", i32 0, i32 0, i32 1}
; HOST: = !{i32 0, i32 1, i32 2, !"final", i32 3, i32 0, i32 2}

; CPU19-DAG: @.offloading.entry.__omp_offloading_0_0_construct_l0 = weak constant {{.*}} { ptr @__omp_offloading_0_0_construct_l0, ptr @{{.*}}, i64 0, i32 2, i32 0 }
; CPU19-DAG: @.offloading.entry.__omp_offloading_0_0_destroy_l0 = weak constant {{.*}} { ptr @__omp_offloading_0_0_destroy_l0, ptr @{{.*}}, i64 0, i32 4, i32 0 }
; CPU19-DAG: @.offloading.entry.__omp_offloading_1_2_final_l3 = weak constant {{.*}} { ptr @__omp_offloading_1_2_final_l3, ptr @{{.*}}, i64 0, i32 2, i32 0 }
; CPU22-DAG: @.offloading.entry.__omp_offloading_0_0_construct_l0 = weak constant {{.*}} i32 2, ptr @__omp_offloading_0_0_construct_l0, ptr @{{.*}}, i64 0, i64 0, ptr null }
; CPU22-DAG: @.offloading.entry.__omp_offloading_0_0_destroy_l0 = weak constant {{.*}} i32 4, ptr @__omp_offloading_0_0_destroy_l0, ptr @{{.*}}, i64 0, i64 0, ptr null }
; CPU22-DAG: @.offloading.entry.__omp_offloading_1_2_final_l3 = weak constant {{.*}} i32 2, ptr @__omp_offloading_1_2_final_l3, ptr @{{.*}}, i64 0, i64 0, ptr null }
; GPU-NOT: @.offloading.entry
; DEVICE-DAG: define weak_odr protected {{(ptx_kernel )?}}void @__omp_offloading_1_2_final_l3(ptr %dyn_ptr)
; DEVICE-DAG: define weak_odr protected {{(ptx_kernel )?}}void @__omp_offloading_0_0_construct_l0(ptr noalias noundef %{{dyn_ptr|arguments}})
; DEVICE-DAG: define weak_odr protected {{(ptx_kernel )?}}void @__omp_offloading_0_0_destroy_l0(ptr noalias noundef %{{dyn_ptr|arguments}})
; DEVICE-DAG: define hidden void @construct()
; DEVICE-NOT: offload-entry

target triple = "x86_64-pc-linux-gnu"

@ready = internal global i32 0

define void @construct() #0 {
  store i32 1, ptr @ready
  ret void
}

define void @destroy() section ".offload.dtor" {
  store i32 0, ptr @ready
  ret void
}

; A kernel in its final form has the implicit parameter.
define void @__omp_offloading_1_2_final_l3(ptr %dyn_ptr) #0 {
  ret void
}

attributes #0 = { "offload-entry"="ctor" }
