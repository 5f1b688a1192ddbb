; A global that has an entry's name and does not stand in the section of entries is somebody else's: it is left alone, and the entry is made
; beside it, once.
; RUN: %opt -load-pass-plugin %passes -passes=offload-entries,verify -S < %s -o %t.once
; RUN: %opt -load-pass-plugin %passes -passes=offload-entries,offload-entries,verify -S < %s | diff %t.once -
; RUN: FileCheck --input-file=%t.once %s
target triple = "x86_64-unknown-linux-gnu"

; CHECK: @.offloading.entry.x = constant i32 7
; CHECK: @.offloading.entry.x.{{[0-9]+}} = weak constant {{.*}}ptr @x, {{.*}}section "{{omp_offloading_entries|llvm_offload_entries}}"
@x = global i32 1 #0
@.offloading.entry.x = constant i32 7

attributes #0 = { "offload-entry"="to" }
