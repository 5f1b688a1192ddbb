; What a function declares of a pointer's object (`dereferenceable`) holds at launch where the kernel calls it at every launch, directly or
; through the runtime; nothing is known where it may not call it, or of what lies behind the bytes that it declares.
; RUN: %opt -load-pass-plugin %passes -passes=offload-profitability -disable-output %s | FileCheck %s --check-prefix=KNOWN
; RUN: sed -e 's/call void @body(/call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 3, ptr @body, /' -e 's/@body(ptr deref/@body(ptr %%thread, ptr %%bound_thread, ptr deref/' %s > %t.forked.ll
; RUN: %opt -load-pass-plugin %passes -passes=offload-profitability -disable-output %t.forked.ll | FileCheck %s --check-prefix=KNOWN
; RUN: sed 's/br label %%call/br i1 %%is, label %%call, label %%done/' %s > %t.sometimes.ll
; RUN: %opt -load-pass-plugin %passes -passes=offload-profitability -disable-output %t.sometimes.ll | FileCheck %s --check-prefix=UNKNOWN
; RUN: sed 's/dereferenceable(8)/dereferenceable(2)/' %s > %t.behind.ll
; RUN: %opt -load-pass-plugin %passes -passes=offload-profitability -disable-output %t.behind.ll | FileCheck %s --check-prefix=UNKNOWN
; KNOWN: __omp_offloading_0_0_run_l0
; KNOWN-NEXT: argument 1, 4 constant bytes (not all read at every launch) of contents: loop bound
; UNKNOWN: __omp_offloading_0_0_run_l0
; UNKNOWN-NEXT: argument 1, contents:

target triple = "x86_64-pc-linux-gnu"

define void @__omp_offloading_0_0_run_l0(ptr %dyn_ptr, ptr %object, ptr %out, i64 %n) {
  %is = icmp eq i64 %n, 7
  br label %call
call:
  call void @body(ptr %object, ptr %out, i64 %n)
  br label %done
done:
  ret void
}

declare !callback !0 void @__kmpc_fork_call(ptr, i32, ptr, ...)

define internal void @body(ptr dereferenceable(8) %object, ptr %out, i64 %n) noinline {
entry:
  %is = icmp sgt i64 %n, 0
  br i1 %is, label %read, label %done
read:
  %bound = load i32, ptr %object, !tbaa !2
  br label %loop
loop:
  %i = phi i32 [ 0, %read ], [ %next, %loop ]
  %place = getelementptr double, ptr %out, i32 %i
  store double 1.0, ptr %place, !tbaa !4
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %bound
  br i1 %more, label %loop, label %done
done:
  ret void
}

!0 = !{!1}
!1 = !{i64 2, i64 -1, i64 -1, i1 true}
!2 = !{!3, !3, i64 0}
!3 = !{!"int", !5}
!4 = !{!6, !6, i64 0}
!5 = !{!"char", !7}
!6 = !{!"double", !5}
!7 = !{!"root"}
