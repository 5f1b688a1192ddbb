; The base image's stubs for AArch64, which are compiled from IR: what goes through the inline cache saves no register, makes no frame, and leaves
; the kernel's arguments where they are. The slot has a register of its own.
; RUN: rm -rf %t && mkdir -p %t && cd %t
; RUN: %llvm_bin/llvm-as %s -o in.bc
; RUN: %wrapgen_bitcode jit-prepare -o base.bc --bundle out.jit in.bc
; RUN: %llvm_bin/opt -passes=verify -S base.bc -o - | FileCheck %s
; RUN: %llvm_bin/opt -O2 base.bc -o - | %llvm_bin/llc -O2 -o - | sed -n '/^__omp_offloading_1_2_f_l3:/,/Lfunc_end/p' > stub.s
; RUN: FileCheck --check-prefix=ASM --implicit-check-not='[sp' --implicit-check-not=mov %s < stub.s

target datalayout = "e-m:e-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32"
target triple = "aarch64-unknown-linux-gnu"

; CHECK: @llvm.compiler.used = appending global [2 x ptr] [ptr @offloom.jit.look_up, ptr @offloom.jit.other_keys]
; CHECK: define weak_odr protected void @__omp_offloading_1_2_f_l3(ptr noalias noundef %0, ptr noundef %1, i64 noundef %2)
; CHECK: load atomic ptr, ptr @offloom.jit.slots acquire, align 8
; CHECK: call i64 @llvm.aarch64.get.fpcr()
; CHECK: tail call void %code(i64 %{{.+}}, i64 %{{.+}}, i64 %2)
; CHECK: tail call void @offloom.jit.other_keys(ptr nest @offloom.jit.slots, i64
; CHECK: tail call void @offloom.jit.look_up(ptr nest @offloom.jit.slots, i64
; Kernels of so many parameters share these.
; CHECK: define internal void @offloom.jit.look_up(ptr nest %0, i64 %1, i64 %2, i64 %3)
; CHECK: define internal void @offloom.jit.other_keys(ptr nest %0, i64 %1, i64 %2, i64 %3)
; CHECK: mul i128

; ASM: ldar
; ASM: mrs {{x[0-9]+}}, FPCR
; ASM: adrp {{x15|x18}}, offloom.jit.slots
; ASM: b offloom.jit.look_up
; ASM: br x
; ASM: adrp {{x15|x18}}, offloom.jit.slots
; ASM: b offloom.jit.other_keys

define weak_odr protected void @__omp_offloading_1_2_f_l3(ptr noalias noundef %dyn, ptr noundef %p, i64 noundef %n) {
  store i64 %n, ptr %p, align 8
  ret void
}

define weak_odr protected void @__omp_offloading_1_2_f_l4(ptr noalias noundef %dyn, ptr noundef %p, i64 noundef %n) {
  store i64 1, ptr %p, align 8
  ret void
}
