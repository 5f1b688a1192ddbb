; What the link step says of parameters in the bundle: what the kernel does with them where a constant matters, how many bytes it looks
; at, and which bytes of an object it only reads.
; RUN: rm -rf %t && mkdir -p %t && cd %t
; RUN: %llvm_bin/llvm-as %s -o in.bc
; RUN: %wrapgen_bitcode jit-prepare -o base.bc --bundle out.jit in.bc
; RUN: python3 %S/Inputs/bundle_bitcode.py out.jit variant.bc matched.bc | FileCheck %s

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK: kernel __omp_offloading_1_2_f_l3
; CHECK-NEXT: parameter 0: launch environment, 8 bytes, uses 0x0, 0 bytes of contents
; CHECK-NEXT: parameter 1: pointer, 8 bytes, uses 0x8, 4 bytes of contents
; CHECK-NEXT: parameter 2: scalar, 4 bytes, uses 0x1, 0 bytes of contents
; CHECK-NEXT: parameter 3: scalar, 1 bytes, uses 0x0, 0 bytes of contents
define weak_odr protected void @__omp_offloading_1_2_f_l3(ptr noalias %dyn, ptr dereferenceable(16) %object, i64 %n, i64 %unused) {
entry:
  %count = trunc i64 %n to i32
  %field = getelementptr inbounds i8, ptr %object, i64 4
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %divisor = load i32, ptr %field, align 4
  %quotient = sdiv i32 %i, %divisor
  %more = add i32 %sum, %quotient
  %next = add nsw i32 %i, 1
  %again = icmp slt i32 %next, %count
  br i1 %again, label %loop, label %end

end:
  ret void
}

; Numbers narrower than an int: how many bytes count is seen from what extends them. A shift that promises not to overflow looks at what it
; shifts out.
; CHECK: kernel __omp_offloading_1_2_g_l9
; CHECK-NEXT: parameter 0: launch environment
; CHECK-NEXT: parameter 1: pointer
; CHECK-NEXT: parameter 2: scalar, 2 bytes
; CHECK-NEXT: parameter 3: scalar, 1 bytes
; CHECK-NEXT: parameter 4: scalar, 4 bytes
; CHECK-NEXT: parameter 5: scalar, 4 bytes
define weak_odr protected void @__omp_offloading_1_2_g_l9(ptr noalias %dyn, ptr %out, i64 %short, i64 %byte, i64 %promised, i64 %both) {
  %short.int = trunc i64 %short to i32
  %short.top = shl i32 %short.int, 16
  %short.value = ashr exact i32 %short.top, 16
  %byte.short = trunc i64 %byte to i16
  %byte.value = and i16 %byte.short, 255
  %byte.int = zext i16 %byte.value to i32
  %promised.int = trunc i64 %promised to i32
  %promised.value = shl nsw i32 %promised.int, 16
  %both.int = trunc i64 %both to i32
  %both.low = and i32 %both.int, 255
  %both.value = add i32 %both.low, %both.int
  %first = add i32 %short.value, %byte.int
  %second = add i32 %promised.value, %both.value
  %sum = add i32 %first, %second
  store i32 %sum, ptr %out, align 4
  ret void
}
