; What a host module requires of the runtime becomes an entry, as Clang makes it; a device module has no trace of it.
; RUN: %opt -load-pass-plugin %passes -passes=offload-entries,verify -S < %s -o %t.ll
; RUN: FileCheck %s --input-file=%t.ll --check-prefix=%if llvm-19 %{V19%} %else %{V22%} --implicit-check-not=offload.requires
; RUN: %opt -load-pass-plugin %passes -passes=offload-entries,verify -S < %t.ll | diff %t.ll -
; RUN: sed 's/^;ON-DEVICE //' %s | %opt -load-pass-plugin %passes -passes=offload-entries,verify -S | FileCheck %s --check-prefix=DEVICE

; The same from Clang's own directive.
; RUN: printf '#pragma omp requires unified_shared_memory\nvoid f(void) {\n#pragma omp target\n  ;\n}\n' > %t.c
; RUN: %clang %omp_compile --offload-host-only -S -emit-llvm %t.c -o - | FileCheck %s --check-prefix=%if llvm-19 %{V19%} %else %{V22%}

; V19: @.offloading.entry_name{{.*}} = internal unnamed_addr constant [1 x i8] zeroinitializer{{$}}
; V19: @.offloading.entry. = weak constant %struct.__tgt_offload_entry { ptr null, ptr @.offloading.entry_name{{.*}}, i64 0, i32 16, i32 8 }, section "omp_offloading_entries", align 1
; V22: @.offloading.entry_name{{.*}} = internal unnamed_addr constant [10 x i8] c".requires\00", section ".llvm.rodata.offloading", align 1
; V22: @.offloading.entry..requires = weak constant %struct.__tgt_offload_entry { i64 0, i16 1, i16 1, i32 16, ptr null, ptr @.offloading.entry_name{{.*}}, i64 0, i64 8, ptr null }, section "llvm_offload_entries", align 8
; DEVICE-NOT: @.offloading
; DEVICE-NOT: offload.requires

; As joined modules have it.
!offload.requires = !{!0, !2}
!0 = !{i32 8}
!2 = distinct !{i32 8}
;ON-DEVICE !llvm.module.flags = !{!1}
;ON-DEVICE !1 = !{i32 7, !"openmp-device", i32 51}
