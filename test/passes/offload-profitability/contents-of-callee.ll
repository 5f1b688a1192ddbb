; What a function declares of a pointer's object (`dereferenceable`) holds at launch where the kernel calls it at every launch, directly or
; through the runtime; nothing is known where it may not call it.
; RUN: %opt -load-pass-plugin %passes -passes=offload-profitability -disable-output < %s 2>&1 | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

; CHECK: __omp_offloading_0_0_always_l0
; CHECK-NEXT: argument 1, 4 constant bytes (not all read at every launch) of contents: loop bound
define void @__omp_offloading_0_0_always_l0(ptr %dyn_ptr, ptr %object, ptr %out, i64 %n) {
  call void @body(ptr %object, ptr %out, i64 %n)
  ret void
}

; CHECK: __omp_offloading_0_0_forked_l0
; CHECK-NEXT: argument 1, 4 constant bytes (not all read at every launch) of contents: loop bound
define void @__omp_offloading_0_0_forked_l0(ptr %dyn_ptr, ptr %object, ptr %out, i64 %n) {
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 3, ptr @forked, ptr %object, ptr %out, i64 %n)
  ret void
}

; CHECK: __omp_offloading_0_0_sometimes_l0
; CHECK-NEXT: argument 1, contents:
define void @__omp_offloading_0_0_sometimes_l0(ptr %dyn_ptr, ptr %object, ptr %out, i64 %n) {
  %is = icmp eq i64 %n, 7
  br i1 %is, label %call, label %done
call:
  call void @other_body(ptr %object, ptr %out, i64 %n)
  br label %done
done:
  ret void
}

; CHECK: __omp_offloading_0_0_behind_l0
; CHECK-NEXT: argument 1, contents:
define void @__omp_offloading_0_0_behind_l0(ptr %dyn_ptr, ptr %object, ptr %out, i64 %n) {
  call void @short_body(ptr %object, ptr %out, i64 %n)
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

define internal void @forked(ptr %thread, ptr %bound_thread, ptr dereferenceable(8) %object, ptr %out, i64 %n) noinline {
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

define internal void @other_body(ptr dereferenceable(8) %object, ptr %out, i64 %n) noinline {
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

define internal void @short_body(ptr dereferenceable(2) %object, ptr %out, i64 %n) noinline {
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
