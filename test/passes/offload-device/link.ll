; A `link` variable is not in the device module: code loads its address from the pointer that the runtime fills in.
; RUN: %opt -load-pass-plugin %passes -passes=offload-device,verify -S < %s -o %t.ll
; RUN: FileCheck %s --input-file=%t.ll --implicit-check-not='@x ' --implicit-check-not='@x,' --implicit-check-not='@y,'
; RUN: %opt -load-pass-plugin %passes -passes=offload-device,verify -S < %t.ll | diff %t.ll -
; RUN: sed -e '/^@host_table/d' -e 's/^;FLAGS //' %s | %opt -load-pass-plugin %passes -passes=offload-device,verify -S -o %t.device.ll
; RUN: FileCheck %s --input-file=%t.device.ll --implicit-check-not='@x ' --implicit-check-not='@x,'
; RUN: sed 's/^;INITIAL //' %s | not %opt -load-pass-plugin %passes -passes=offload-device -S -o %t.none 2>&1 | FileCheck %s --check-prefix=INITIAL
; RUN: not ls %t.none
target triple = "x86_64-unknown-linux-gnu"

; INITIAL: error: <stdin>: offload-device: the initial value of `table` holds the address of `x`, which device code knows only through a pointer (`link`): store the address when the program runs, or mark `x` as `to`
;INITIAL @table = internal constant { i64, ptr } { i64 1, ptr getelementptr (i8, ptr @x, i64 4) }
;INITIAL define ptr @uses() "offload-entry"="function" {
;INITIAL   ret ptr @table
;INITIAL }

@x = global [10 x i32] zeroinitializer, section ".offload.link"
; Who has its address beside device code does not matter.
@host_table = global ptr @x
@llvm.used = appending global [1 x ptr] [ptr @x], section "llvm.metadata"
@text = private constant [5 x i8] c"text\00"
@llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @x, ptr @text, ptr @text, i32 1, ptr null }], section "llvm.metadata"
;FLAGS !llvm.module.flags = !{!0}
;FLAGS !0 = !{i32 7, !"openmp-device", i32 51}
; Only declared here.
@y = external global i32 "offload-entry"="link"
; Not used at all: the host's entry needs it all the same.
@z = global i32 0, section ".offload.link"
; CHECK-DAG: @x_decl_tgt_ref_ptr = weak global ptr null, align 8
; CHECK-DAG: @y_decl_tgt_ref_ptr = weak global ptr null, align 8
; CHECK-DAG: @z_decl_tgt_ref_ptr = weak global ptr null, align 8
; The runtime fills it in through the host's entry.
; CHECK-NOT: @.offloading.entry.x_decl_tgt_ref_ptr

; CHECK-LABEL: define {{hidden|protected}} ptr @f(
; CHECK: [[X:%.*]] = load ptr, ptr @x_decl_tgt_ref_ptr, align 8
; CHECK: [[FIELD:%.*]] = getelementptr {{.*}}i8, ptr [[X]], i64 4
; CHECK: load i32, ptr [[FIELD]]
; CHECK: one:
; CHECK: [[X1:%.*]] = load ptr, ptr @x_decl_tgt_ref_ptr, align 8
; CHECK: br label %end
; CHECK: two:
; CHECK: [[Y:%.*]] = load ptr, ptr @y_decl_tgt_ref_ptr, align 8
; CHECK: br label %end
; CHECK: end:
; CHECK: phi ptr [ [[X1]], %one ], [ [[Y]], %two ]
define ptr @f(i1 %which) "offload-entry"="function" {
  %a = load i32, ptr getelementptr (i8, ptr @x, i64 4)
  br i1 %which, label %one, label %two
one:
  br label %end
two:
  br label %end
end:
  %address = phi ptr [ @x, %one ], [ @y, %two ]
  ret ptr %address
}
; One instruction, one load.
; CHECK-LABEL: define {{hidden|protected}} void @g(
; CHECK: [[X2:%.*]] = load ptr, ptr @x_decl_tgt_ref_ptr, align 8
; CHECK: store ptr [[X2]], ptr [[X2]]
define void @g() "offload-entry"="function" {
  store ptr @x, ptr @x
  ret void
}
; CHECK-DAG: = !{i32 1, !"x_decl_tgt_ref_ptr", i32 1, i32 {{[0-9]}}}
; CHECK-DAG: = !{i32 1, !"z_decl_tgt_ref_ptr", i32 1, i32 {{[0-9]}}}
