; x86: libomptarget's memory is aligned to 16 bytes, so code for wider vectors must not rely on what types and clauses promise beyond that.
; What the code itself allocates, atomic accesses and copies on the stack are as aligned as they say.
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=x86-64-v4>,verify' -S %s | FileCheck %s
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=x86-64-v4>,default<O2>' %s -o - | %llvm_bin/llc -O2 -o - | FileCheck %s --check-prefix=ASM
; RUN: %opt -passes='default<O2>' %s -o - | %llvm_bin/llc -O2 -mcpu=x86-64-v4 -o - | FileCheck %s --check-prefix=PROMISED
; RUN: sed s/x86_64-pc-linux-gnu/aarch64-unknown-linux-gnu/ %s | %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=generic>,verify' -S | FileCheck %s --check-prefix=OTHER
target triple = "x86_64-pc-linux-gnu"

@table = global [8 x double] zeroinitializer, align 64

; ASM-LABEL: memory:
; ASM-NOT: {{movap|movdqa}}{{.*}}({{.*}}zmm
; ASM: ret
; PROMISED-LABEL: memory:
; PROMISED: movaps {{.*}}zmm
; OTHER: load <8 x double>, ptr %from, align 64
; CHECK-LABEL: define align 16 ptr @memory(ptr align 16 %to, ptr align 8 %from, ptr byval(<8 x double>) align 64 %copy)
define align 64 ptr @memory(ptr align 64 %to, ptr align 8 %from, ptr byval(<8 x double>) align 64 %copy) {
; CHECK: load <8 x double>, ptr %from, align 16
  %first = load <8 x double>, ptr %from, align 64
; CHECK: load <8 x double>, ptr %from, align 8
  %second = load <8 x double>, ptr %from, align 8
  %sum = fadd <8 x double> %first, %second
; CHECK: store <8 x double> %sum, ptr %to, align 16
  store <8 x double> %sum, ptr %to, align 64
  ret ptr %to
}

; CHECK-LABEL: define void @promises(
define void @promises(ptr %a, ptr %b, i64 %n) {
; CHECK: call void @llvm.assume(i1 true) [ "align"(ptr %a, i64 16), "nonnull"(ptr %b) ]
  call void @llvm.assume(i1 true) [ "align"(ptr %a, i64 64), "nonnull"(ptr %b) ]
; CHECK: call void @llvm.assume(i1 true) [ "align"(ptr %b, i64 %n), "align"(ptr %b, i64 16, i64 8) ]
  call void @llvm.assume(i1 true) [ "align"(ptr %b, i64 %n), "align"(ptr %b, i64 32, i64 8) ]
; CHECK: %loaded = load ptr, ptr %a, align 8, !align ![[SIXTEEN:[0-9]+]]
  %loaded = load ptr, ptr %a, align 8, !align !0
; CHECK: %also = load ptr, ptr %b, align 8, !align ![[EIGHT:[0-9]+]]
  %also = load ptr, ptr %b, align 8, !align !1
; CHECK: call void @llvm.memcpy.p0.p0.i64(ptr align 16 %loaded, ptr align 4 %also, i64 64, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %loaded, ptr align 4 %also, i64 64, i1 false)
; CHECK: call align 16 ptr @memory(ptr align 16 %a, ptr %b, ptr byval(<8 x double>) align 64 %a)
  %result = call align 32 ptr @memory(ptr align 32 %a, ptr %b, ptr byval(<8 x double>) align 64 %a)
  ret void
}

; CHECK-LABEL: define i64 @kept(
; CHECK: alloca [8 x i64], align 64
; CHECK: load atomic i64, ptr %slot monotonic, align 64
; ASM-LABEL: kept:
define i64 @kept(i64 %n) {
  %slot = alloca [8 x i64], align 64
  store i64 %n, ptr %slot, align 64
  %value = load atomic i64, ptr %slot monotonic, align 64
  ret i64 %value
}

; ASM-LABEL: own:
; ASM: movq table@GOTPCREL(%rip), %[[TABLE:r[a-z0-9]+]]
; ASM: vmovap{{[sd]}} (%[[TABLE]]), %zmm
define void @own(ptr %to) {
  %all = load <8 x double>, ptr @table, align 64
  store <8 x double> %all, ptr %to, align 64
  ret void
}

declare void @llvm.assume(i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; CHECK-DAG: ![[SIXTEEN]] = !{i64 16}
; CHECK-DAG: ![[EIGHT]] = !{i64 8}
!0 = !{i64 64}
!1 = !{i64 8}
