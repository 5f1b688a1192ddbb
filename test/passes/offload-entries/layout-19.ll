; The record, the name and the metadata of LLVM 19, for a region, a variable and a link variable, in the module's order.

; REQUIRES: llvm-19
; RUN: %opt -load-pass-plugin %passes -passes='offload-entries,verify' -S %s | FileCheck %s

; CHECK: %struct.__tgt_offload_entry = type { ptr, ptr, i64, i32, i32 }
; CHECK: @.offloading.entry_name = internal unnamed_addr constant [6 x i8] c"table\00"{{$}}
; CHECK: @.offloading.entry.table = weak constant %struct.__tgt_offload_entry { ptr @table, ptr @.offloading.entry_name, i64 28, i32 0, i32 0 }, section "omp_offloading_entries", align 1
; CHECK: @linked_decl_tgt_ref_ptr = weak global ptr @linked, align 8
; CHECK: @.offloading.entry.linked_decl_tgt_ref_ptr = weak constant %struct.__tgt_offload_entry { ptr @linked_decl_tgt_ref_ptr, ptr @.offloading.entry_name.1, i64 8, i32 1, i32 0 }, section "omp_offloading_entries", align 1
; CHECK: @.offloading.entry.__omp_offloading_10_2f__Z1fv_l7_1 = weak constant %struct.__tgt_offload_entry { ptr @.__omp_offloading_10_2f__Z1fv_l7_1.region_id, ptr @.offloading.entry_name.2, i64 0, i32 0, i32 0 }, section "omp_offloading_entries", align 1
; CHECK-NOT: llvm.offloading.symbols
; CHECK: !omp_offload.info = !{![[TABLE:[0-9]+]], ![[LINKED:[0-9]+]], ![[REGION:[0-9]+]]}
; CHECK-DAG: ![[TABLE]] = !{i32 1, !"table", i32 0, i32 0}
; CHECK-DAG: ![[LINKED]] = !{i32 1, !"linked_decl_tgt_ref_ptr", i32 1, i32 1}
; CHECK-DAG: ![[REGION]] = !{i32 0, i32 16, i32 47, !"_Z1fv", i32 7, i32 1, i32 2}

@table = global [7 x i32] zeroinitializer #0
@linked = global [9 x i32] zeroinitializer #1
@.__omp_offloading_10_2f__Z1fv_l7_1.region_id = weak constant i8 0

attributes #0 = { "offload-entry"="to" }
attributes #1 = { "offload-entry"="link" }
