; What a host front end that is not Clang marks: by attribute and by section. Markers go once acted on, and a second run changes nothing.

; RUN: %opt -load-pass-plugin %passes -passes='offload-entries,verify' -S %s -o %t.once
; RUN: FileCheck %s < %t.once
; RUN: %opt -load-pass-plugin %passes -passes='offload-entries,offload-entries,verify' -S %s -o %t.twice
; RUN: cmp %t.once %t.twice

; A declaration that launching code needs becomes the definition.
; CHECK: @.__omp_offloading_0_0_saxpy_l0.region_id = weak constant i8 0{{$}}
; A region id of another file stays a declaration and has no entry here.
; CHECK: @.__omp_offloading_0_0_elsewhere_l0.region_id = external constant i8{{$}}
; CHECK: @in_section = global i64 1{{$}}
; CHECK: @local = internal global i32 2{{$}}
; CHECK: @hidden = hidden global i32 3{{$}}
; CHECK: @declared = external global i32{{$}}
; CHECK: @.offloading.entry.in_section = weak constant {{.*}}ptr @in_section, {{.*}}i64 8
; CHECK: @.offloading.entry.saved = weak constant {{.*}}ptr @saved, {{.*}}i64 4
; CHECK: @.offloading.entry.__omp_offloading_0_0_saxpy_l0 = weak constant {{.*}}ptr @.__omp_offloading_0_0_saxpy_l0.region_id,
; CHECK: @.__omp_offloading_0_0_scale_l0.region_id = weak constant i8 0{{$}}
; CHECK: @.offloading.entry.__omp_offloading_0_0_scale_l0 = weak constant {{.*}}ptr @.__omp_offloading_0_0_scale_l0.region_id,
; CHECK: @.offloading.entry.__omp_offloading_1_2_final_l3 = weak constant {{.*}}ptr @.__omp_offloading_1_2_final_l3.region_id,
; CHECK: @.offloading.entry.__omp_offloading_0_0_callback_l0 = weak constant {{.*}}ptr @callback,
; CHECK-NOT: @.offloading.entry.
; CHECK: define void @saxpy() {
; CHECK: define void @scale() {
; CHECK-NOT: offload-entry
; CHECK-DAG: !{i32 1, !"in_section", i32 0, i32 0}
; CHECK-DAG: !{i32 1, !"local", i32 0, i32 1}
; CHECK-DAG: !{i32 1, !"hidden", i32 0, i32 2}
; CHECK-DAG: !{i32 1, !"saved", i32 0, i32 3}
; CHECK-DAG: !{i32 1, !"declared", i32 0, i32 4}
; CHECK-DAG: !{i32 0, i32 0, i32 0, !"saxpy", i32 0, i32 0, i32 5}
; CHECK-DAG: !{i32 0, i32 0, i32 0, !"scale", i32 0, i32 0, i32 6}
; CHECK-DAG: !{i32 0, i32 1, i32 2, !"final", i32 3, i32 0, i32 7}
; CHECK-DAG: !{i32 1, !"__omp_offloading_0_0_callback_l0", i32 8, i32 8}

@.__omp_offloading_0_0_saxpy_l0.region_id = external global i8
@.__omp_offloading_0_0_elsewhere_l0.region_id = external constant i8
@in_section = global i64 1, section ".offload.to"
@local = internal global i32 2 #0
@hidden = hidden global i32 3 #0
@saved = global i32 4, section "elsewhere" #1
@declared = external global i32 #0
@keep = global ptr @.__omp_offloading_0_0_elsewhere_l0.region_id

define void @saxpy() #2 {
  ret void
}

define void @scale() section ".offload.kernel" {
  ret void
}

; Marked and elsewhere: nothing to do here.
declare void @declared_kernel() #2

; Already called by the scheme.
define void @__omp_offloading_1_2_final_l3(ptr %dyn_ptr) {
  ret void
}

; The host version of a region that Clang compiled without offloading.
define internal void @__omp_offloading_1_2_fallback_l9() {
  ret void
}

define i32 @callback(i32 %x) #3 {
  ret i32 %x
}

attributes #0 = { "offload-entry"="to" }
attributes #1 = { "offload-entry"="enter" }
attributes #2 = { "offload-entry"="kernel" }
attributes #3 = { "offload-entry"="indirect" }
