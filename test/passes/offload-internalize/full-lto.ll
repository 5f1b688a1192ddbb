; Unasked, the pass runs when full LTO starts on a device module, and on no other module.

; RUN: %opt -load-pass-plugin %passes -passes='lto<O0>' -S %s | FileCheck %s --check-prefix=DEVICE
; RUN: sed 's/openmp-device/openmp/' %s > %t.host.ll
; RUN: %opt -load-pass-plugin %passes -passes='lto<O0>' -S %t.host.ll | FileCheck %s --check-prefix=HOST
; RUN: %opt -load-pass-plugin %passes -passes='default<O0>' -S %s | FileCheck %s --check-prefix=HOST

; DEVICE: define weak_odr protected void @__omp_offloading_1_2_main_l3(
; DEVICE: define internal void @helper()
; HOST: define weak_odr protected void @__omp_offloading_1_2_main_l3(
; HOST: define hidden void @helper()

define weak_odr protected void @__omp_offloading_1_2_main_l3(ptr %dyn_ptr) {
  call void @helper()
  ret void
}

define hidden void @helper() {
  ret void
}

!llvm.module.flags = !{!0}
!0 = !{i32 7, !"openmp-device", i32 51}
