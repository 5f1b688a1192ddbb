; What nobody asks for by its name, and somebody comes to all the same: what stands between the start and the end of a section, and what only code
; generation calls. What is asked for by its name does not go because this module has no use of it.
; RUN: %opt -load-pass-plugin %passes -passes='offload-internalize,verify' -S %s | FileCheck %s --check-prefixes=CHECK,NOW
; RUN: %opt -load-pass-plugin %passes -passes='offload-internalize,lto<O2>' -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

; CHECK-DAG: @listed = weak_odr protected {{.*}}global i32 1
@listed = linkonce_odr protected global i32 1
; CHECK-DAG: @in_section = internal {{.*}}constant i32 2, section "sites"
@in_section = internal constant i32 2, section "sites"
; CHECK-DAG: @llvm.used = appending global [1 x ptr] [ptr @in_section], section "llvm.metadata"
@llvm.used = appending global [2 x ptr] [ptr @in_section, ptr @plain], section "llvm.metadata"
; NOW-DAG: @plain = internal constant i32 3
@plain = internal constant i32 3
; CHECK-DAG: @llvm.compiler.used = appending global [1 x ptr] [ptr @by_code], section "llvm.metadata"
@llvm.compiler.used = appending global [1 x ptr] [ptr @by_code], section "llvm.metadata"
; CHECK-DAG: @by_code = internal {{.*}}constant ptr @needed, section ".init_array"
@by_code = constant ptr @needed, section ".init_array"

; CHECK-DAG: define internal {{.*}}void @needed()
define hidden void @needed() {
  ret void
}
; CHECK-DAG: define hidden {{.*}}double @fmod(double
define hidden double @fmod(double %x, double %y) {
  ret double %x
}
; CHECK-DAG: define hidden {{.*}}bfloat @__truncsfbf2(float
define hidden bfloat @__truncsfbf2(float %x) {
  ret bfloat 0.0
}
; Functions of C's library that it never calls.
; NOW-DAG: define internal i32 @access(i32
define hidden i32 @access(i32 %x) {
  ret i32 %x
}
; NOW-DAG: define internal double @fmodulo(double
define hidden double @fmodulo(double %x, double %y) {
  ret double %x
}

define weak_odr protected void @__omp_offloading_1_2_main_l3(ptr %dyn_ptr, ptr %p, double %x) {
  call void asm sideeffect "pushq $$in_operand", "~{memory}"()
  %r = frem double %x, 3.0
  store double %r, ptr %p
  ret void
}

; CHECK-DAG: define hidden {{.*}}void @in_operand()
define hidden void @in_operand() {
  ret void
}

!omp_offload.info = !{!0}
!0 = !{i32 1, !"listed", i32 0, i32 0}
