; A function that returns an object writes it into its caller's memory (`sret`), here the mapped object itself: what that held at launch is
; not known behind the call, so it is known nowhere.
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-contents<descriptor=kernel=kernel;arch=x86-64;0=contents:04000000>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

%settings = type { i32, [8 x i32] }

; CHECK-LABEL: define void @kernel(
; CHECK: call void @with(ptr sret(%settings) {{.*}}%object, i32 %more)
; CHECK-NEXT: %count = load i32, ptr %object
; CHECK-NEXT: %wide = sext i32 %count to i64
; CHECK-NEXT: store i64 %wide, ptr %out
define void @kernel(ptr %object, ptr %out) {
  %before = load i32, ptr %object, align 4, !tbaa !0
  %more = add i32 %before, 1
  call void @with(ptr sret(%settings) align 4 %object, i32 %more)
  %count = load i32, ptr %object, align 4, !tbaa !0
  %wide = sext i32 %count to i64
  store i64 %wide, ptr %out, align 8, !tbaa !4
  ret void
}

define internal void @with(ptr noalias sret(%settings) align 4 %result, i32 %count) noinline {
  store i32 %count, ptr %result, align 4, !tbaa !0
  ret void
}

!0 = !{!1, !1, i64 0}
!1 = !{!"int", !2, i64 0}
!2 = !{!"omnipotent char", !3, i64 0}
!3 = !{!"Simple C++ TBAA"}
!4 = !{!5, !5, i64 0}
!5 = !{!"long", !2, i64 0}
