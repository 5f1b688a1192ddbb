; Which definitions of a device module become protected, and which are left as they are.

; RUN: %opt -load-pass-plugin %passes -passes='offload-visibility,verify' -S %s -o %t.once
; RUN: FileCheck %s < %t.once
; RUN: %opt -load-pass-plugin %passes -passes='offload-visibility' -S %t.once -o %t.twice
; RUN: FileCheck %s < %t.twice

; CHECK: @variable = protected global i32 0
; CHECK: @weak_variable = weak_odr protected constant i32 0, comdat($group)
; CHECK: @explicit = hidden global i32 0
; CHECK: @own = internal global i32 0
; CHECK: @declared = external global i32
; CHECK: @linked_decl_tgt_ref_ptr = weak global ptr null
; CHECK: @.gomp_critical_user_a.var = common global [8 x i32] zeroinitializer
; CHECK: @tentative = common protected global i32 0
; CHECK: @__openmp_nvptx_data_transfer_temporary_storage = weak addrspace(3) global [32 x i32] undef
; CHECK: @.offloading.entry.{{variable|other}} = weak constant
; CHECK: @llvm.compiler.used = appending global
; CHECK: @other_name = protected alias i32, ptr @variable
; CHECK: define weak_odr protected void @kernel()
; CHECK: define hidden void @function()
; CHECK: define linkonce_odr protected void @inline_function()
; CHECK: define linkonce_odr void @of_the_library() #0
; CHECK: define available_externally void @copy()

$group = comdat any
@variable = global i32 0
@weak_variable = weak_odr constant i32 0, comdat($group)
@explicit = hidden global i32 0
@own = internal global i32 0
@declared = external global i32
@linked_decl_tgt_ref_ptr = weak global ptr null
@.gomp_critical_user_a.var = common global [8 x i32] zeroinitializer
@tentative = common global i32 0
@__openmp_nvptx_data_transfer_temporary_storage = weak addrspace(3) global [32 x i32] undef
@.offloading.entry.variable = weak constant i32 0, section "omp_offloading_entries"
@.offloading.entry.other = weak constant i32 0, section "llvm_offload_entries"
@llvm.compiler.used = appending global [1 x ptr] [ptr @own], section "llvm.metadata"
@other_name = alias i32, ptr @variable

define weak_odr void @kernel() {
  ret void
}

define hidden void @function() {
  call void @kernel()
  ret void
}

define linkonce_odr void @inline_function() {
  ret void
}

define linkonce_odr void @of_the_library() #0 {
  ret void
}

define available_externally void @copy() {
  ret void
}

attributes #0 = { "offload-visibility"="default" }
