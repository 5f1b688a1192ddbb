; A table of virtual functions that is marked `indirect` gets what Clang 22 gives it: an entry with the flag 32 for the table itself on the
; host; on the device a constant with its address, and an entry under its own name.
; REQUIRES: llvm-22
; RUN: %opt -load-pass-plugin %passes -passes=offload-entries,verify -S < %s -o %t.host.ll
; RUN: FileCheck %s --check-prefix=HOST < %t.host.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-device<host-ir=%t.host.ll>,verify' -S < %s -o %t.listed.ll
; RUN: FileCheck %s --check-prefix=DEVICE < %t.listed.ll
; RUN: %opt -load-pass-plugin %passes -passes=offload-device,verify -S < %s | FileCheck %s --check-prefix=DEVICE
; RUN: %opt -load-pass-plugin %passes -passes=offload-device,verify -S < %t.listed.ll | diff %t.listed.ll -
; RUN: sed '/ALIGN/d; s/ "offload-entry"="indirect"$//' %s | %opt -load-pass-plugin %passes -passes='offload-device<host-ir=%t.host.ll>,verify' -S | FileCheck %s --check-prefix=DEVICE
target triple = "x86_64-unknown-linux-gnu"

; HOST: @table = linkonce_odr unnamed_addr constant [2 x ptr] [ptr null, ptr @f]
; HOST: c"__omp_offloading_0_0_table_l0addr\00"
; HOST: @.offloading.entry.__omp_offloading_0_0_table_l0addr = weak constant %struct.__tgt_offload_entry { i64 0, i16 1, i16 1, i32 32, ptr @table, ptr @.offloading.entry_name, i64 16, i64 0, ptr null }
; HOST: !{i32 1, !"__omp_offloading_0_0_table_l0addr", i32 32, i32 0}
; DEVICE: @table = linkonce_odr protected unnamed_addr constant [2 x ptr] [ptr null, ptr @f]
; DEVICE: @__omp_offloading_0_0_table_l0addr = protected constant ptr @table
; DEVICE: c"table\00"
; DEVICE: @.offloading.entry.table = weak constant %struct.__tgt_offload_entry { i64 0, i16 1, i16 1, i32 32, ptr @table, ptr @.offloading.entry_name, i64 16, i64 0, ptr null }
; DEVICE: define hidden i32 @f(
; DEVICE: !{i32 1, !"__omp_offloading_0_0_table_l0addr", i32 32, i32 0}
@table = linkonce_odr unnamed_addr constant [2 x ptr] [ptr null, ptr @f] "offload-entry"="indirect"

define i32 @f(ptr %this) {
  ret i32 1
}
