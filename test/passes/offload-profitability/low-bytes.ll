; How many bytes of an argument word are looked at where a sum of words is cut, as LLVM 23 writes sums of numbers of 32 bits.
; RUN: %opt -load-pass-plugin %passes -passes=offload-profitability -disable-output %s | FileCheck %s

; CHECK: __omp_offloading_1_1_cut_l1
; CHECK-NEXT: argument 1, 4 bytes
; CHECK-NEXT: argument 2, 8 bytes
; CHECK-NEXT: argument 3, 8 bytes
; CHECK-NEXT: argument 4, 8 bytes
target triple = "x86_64-pc-linux-gnu"
define weak_odr protected void @__omp_offloading_1_1_cut_l1(ptr %environment, i64 %sum, i64 %compared, i64 %promised, i64 %twice, ptr %y) {
  %less = add i64 %sum, 4294967295
  %masked = and i64 %less, 4294967295
  store volatile i64 %masked, ptr %y
  %truncated = trunc i64 %less to i32
  store volatile i32 %truncated, ptr %y
  ; All of the sum.
  %whole = add i64 %compared, 4294967295
  %cut = trunc i64 %whole to i32
  store volatile i32 %cut, ptr %y
  %is_large = icmp ugt i64 %whole, 7
  store volatile i1 %is_large, ptr %y
  ; What lies above decides whether this one is a number.
  %without = add nuw i64 %promised, 4294967295
  %rest = trunc i64 %without to i32
  store volatile i32 %rest, ptr %y
  ; Not followed.
  %once = add i64 %twice, 4294967295
  %again = add i64 %once, 4294967295
  %end = trunc i64 %again to i32
  store volatile i32 %end, ptr %y
  ret void
}
