; What a merged module keeps for the world outside, and what becomes internal.

; RUN: %opt -load-pass-plugin %passes -passes='offload-internalize,verify' -S %s -o %t.once
; RUN: FileCheck %s --check-prefixes=CHECK,DEFAULT < %t.once
; RUN: %opt -load-pass-plugin %passes -passes='offload-internalize,offload-internalize,verify' -S %s -o %t.twice
; RUN: cmp %t.once %t.twice
; RUN: %opt -load-pass-plugin %passes -passes='offload-internalize<keep=helper,state>,verify' -S %s | FileCheck %s --check-prefixes=CHECK,KEEP
; RUN: %opt -load-pass-plugin %passes -passes='offload-internalize<keep=helper;keep=state>,verify' -S %s | FileCheck %s --check-prefixes=CHECK,KEEP

; CHECK: @g = protected global i32 0
; CHECK: @x_decl_tgt_ref_ptr = weak global ptr null
; CHECK: @__omp_rtl_device_environment = weak protected global i32 0
; DEFAULT: @state = internal global i32 0
; KEEP: @state = weak protected global i32 0
; CHECK: @by_entry = protected global i32 0
; CHECK: @.offloading.entry.by_entry{{(.22)?}} = weak constant
; CHECK: @__omp_offloading_1_2_main_l3_kernel_environment = weak_odr protected constant i32 0
; CHECK: @mentioned = global i32 0
; CHECK: @elsewhere = external global i32
; DEFAULT: @llvm.used = appending global [1 x ptr] [ptr @__omp_rtl_device_environment], section "llvm.metadata"
; KEEP: @llvm.used = appending global [2 x ptr] [ptr @__omp_rtl_device_environment, ptr @state], section "llvm.metadata"
; DEFAULT-NOT: @llvm.compiler.used
; KEEP: @llvm.compiler.used = appending global [1 x ptr] [ptr @helper], section "llvm.metadata"
; CHECK: define weak_odr protected void @__omp_offloading_1_2_main_l3(
; DEFAULT: define internal void @helper()
; KEEP: define hidden void @helper()
; CHECK: define internal void @inline_helper()

module asm ".quad mentioned"

@g = protected global i32 0
@x_decl_tgt_ref_ptr = weak global ptr null
@__omp_rtl_device_environment = weak protected global i32 0
@state = weak protected global i32 0
@by_entry = protected global i32 0
@.offloading.entry_name = internal constant [9 x i8] c"by_entry\00"
@.offloading.entry.by_entry = weak constant { ptr, ptr } { ptr @by_entry, ptr @.offloading.entry_name }, section "omp_offloading_entries"
@.offloading.entry.by_entry.22 = weak constant { ptr, ptr } { ptr @by_entry, ptr @.offloading.entry_name }, section "llvm_offload_entries"
@__omp_offloading_1_2_main_l3_kernel_environment = weak_odr protected constant i32 0
@mentioned = global i32 0
@elsewhere = external global i32
@llvm.used = appending global [2 x ptr] [ptr @__omp_rtl_device_environment, ptr @state], section "llvm.metadata"
@llvm.compiler.used = appending global [1 x ptr] [ptr @helper], section "llvm.metadata"

define weak_odr protected void @__omp_offloading_1_2_main_l3(ptr %dyn_ptr) {
  call void @helper()
  ret void
}

define hidden void @helper() {
  ret void
}

define linkonce_odr hidden void @inline_helper() {
  ret void
}

!omp_offload.info = !{!0, !1}
!0 = !{i32 0, i32 1, i32 2, !"main", i32 3, i32 0, i32 1}
!1 = !{i32 1, !"g", i32 0, i32 0}
