; The record, the name and the metadata of LLVM 22, for a region, a variable and a link variable, in the module's order.

; REQUIRES: !llvm-19
; RUN: %opt -load-pass-plugin %passes -passes='offload-entries,verify' -S %s | FileCheck %s

; CHECK: %struct.__tgt_offload_entry = type { i64, i16, i16, i32, ptr, ptr, i64, i64, ptr }
; CHECK: @.offloading.entry_name = internal unnamed_addr constant [6 x i8] c"table\00", section ".llvm.rodata.offloading", align 1
; CHECK: @.offloading.entry.table = weak constant %struct.__tgt_offload_entry { i64 0, i16 1, i16 1, i32 0, ptr @table, ptr @.offloading.entry_name, i64 28, i64 0, ptr null }, section "llvm_offload_entries", align 8
; CHECK: @linked_decl_tgt_ref_ptr = weak global ptr @linked, align 8
; CHECK: @.offloading.entry.linked_decl_tgt_ref_ptr = weak constant %struct.__tgt_offload_entry { i64 0, i16 1, i16 1, i32 1, ptr @linked_decl_tgt_ref_ptr, ptr @.offloading.entry_name.1, i64 8, i64 0, ptr null }, section "llvm_offload_entries", align 8
; CHECK: @.offloading.entry.__omp_offloading_10_2f__Z1fv_l7_1 = weak constant %struct.__tgt_offload_entry { i64 0, i16 1, i16 1, i32 0, ptr @.__omp_offloading_10_2f__Z1fv_l7_1.region_id, ptr @.offloading.entry_name.2, i64 0, i64 0, ptr null }, section "llvm_offload_entries", align 8
; CHECK: !omp_offload.info = !{![[TABLE:[0-9]+]], ![[LINKED:[0-9]+]], ![[REGION:[0-9]+]]}
; CHECK: !llvm.offloading.symbols = !{![[NAME0:[0-9]+]], ![[NAME1:[0-9]+]], ![[NAME2:[0-9]+]]}
; CHECK-DAG: ![[TABLE]] = !{i32 1, !"table", i32 0, i32 0}
; CHECK-DAG: ![[LINKED]] = !{i32 1, !"linked_decl_tgt_ref_ptr", i32 1, i32 1}
; CHECK-DAG: ![[REGION]] = !{i32 0, i32 16, i32 47, !"_Z1fv", i32 7, i32 1, i32 2}
; CHECK-DAG: ![[NAME0]] = !{ptr @.offloading.entry_name}
; CHECK-DAG: ![[NAME1]] = !{ptr @.offloading.entry_name.1}
; CHECK-DAG: ![[NAME2]] = !{ptr @.offloading.entry_name.2}

@table = global [7 x i32] zeroinitializer #0
@linked = global [9 x i32] zeroinitializer #1
@.__omp_offloading_10_2f__Z1fv_l7_1.region_id = weak constant i8 0

attributes #0 = { "offload-entry"="to" }
attributes #1 = { "offload-entry"="link" }
