; Descriptors that do not fit are refused, each with one message, and nothing is written.
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize' %s -o %t.bc 2>&1 | FileCheck %s --check-prefix=MISSING
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=%t.none>' %s -o %t.bc 2>&1 | FileCheck %s --check-prefix=FILE
; RUN: echo 'kernel=k;arch=any;0=i32:x' > %t.txt
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=%t.txt>' %s -o %t.bc 2>&1 | FileCheck %s --check-prefix=TEXT
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=kernel=k>' %s -o %t.bc 2>&1 | FileCheck %s --check-prefix=ARCH
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=kernel=l;arch=any>' %s -o %t.bc 2>&1 | FileCheck %s --check-prefix=KERNEL
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=kernel=k;arch=any;3=i32:1>' %s -o %t.bc 2>&1 | FileCheck %s --check-prefix=COUNT
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=kernel=k;arch=any;0=i32:1>' %s -o %t.bc 2>&1 | FileCheck %s --check-prefix=POINTER
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=kernel=k;arch=any;2=i64:1>' %s -o %t.bc 2>&1 | FileCheck %s --check-prefix=WIDE
; RUN: not %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=kernel=k;arch=any;1=align:8>' %s -o %t.bc 2>&1 | FileCheck %s --check-prefix=SCALAR
; RUN: not ls %t.bc
; RUN: echo 'kernel=k;arch=any;1=i32:7' > %t.txt
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize<descriptor=%t.txt>' -S %s | FileCheck %s

; MISSING: error: {{.*}}errors.ll: offload-specialize: the parameter `descriptor` needs a value
; FILE: error: {{.*}}errors.ll: offload-specialize: the file `{{.*}}.none` with the descriptor cannot be read: No such file
; TEXT: error: {{.*}}errors.ll: offload-specialize: {{.*}}.txt: descriptor line 1, item `0=i32:x`:
; ARCH: error: {{.*}}errors.ll: offload-specialize: parameter `descriptor`: the descriptor has no `arch=`
; KERNEL: error: {{.*}}errors.ll: offload-specialize: the module does not define the kernel `l` of the descriptor
; COUNT: error: {{.*}}errors.ll: offload-specialize: the descriptor says something of argument 3, and `k` has 3 parameters (the implicit ones included)
; POINTER: error: {{.*}}errors.ll: offload-specialize: argument 0 of `k` is of type ptr, and the descriptor has a value of 32 bits for it
; WIDE: error: {{.*}}errors.ll: offload-specialize: argument 2 of `k` is of type float, and the descriptor has a value of 64 bits for it
; SCALAR: error: {{.*}}errors.ll: offload-specialize: argument 1 of `k` is of type i64, and the descriptor has an alignment for it

target datalayout = "e-m:e-i64:64-n8:16:32:64-S128"

; CHECK: define void @k(
; CHECK-NEXT: store i64 7, ptr %p
define void @k(ptr %p, i64 %n, float %x) {
  store i64 %n, ptr %p
  ret void
}
