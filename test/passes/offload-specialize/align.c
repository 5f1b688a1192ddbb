// The alignment of a pointer arrives at the loads and stores of the innermost body, whether the region got the pointer itself or captured
// a variable that holds it.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-specialize-align "2=align:64;3=align:64"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.x86_64.before.ll
// RUN: FileCheck %s --check-prefixes=AFTER,X86_64 < %t.x86_64.after.ll
// RUN: FileCheck %s --check-prefix=X86_64-UNALIGNED < %t.x86_64.before.s
// RUN: FileCheck %s --check-prefix=X86_64-ALIGNED < %t.x86_64.after.s
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s aarch64-unknown-linux-gnu %t.aarch64 offload-specialize-align "2=align:64;3=align:64"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.aarch64.before.ll
// RUN: FileCheck %s --check-prefixes=AFTER,AARCH64 < %t.aarch64.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-specialize-align "2=align:64;3=align:64"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.nvptx64.before.ll
// RUN: FileCheck %s --check-prefixes=AFTER,NVPTX64 < %t.nvptx64.after.ll
// RUN: FileCheck %s --check-prefix=NVPTX64-UNALIGNED < %t.nvptx64.before.s
// RUN: FileCheck %s --check-prefix=NVPTX64-ALIGNED < %t.nvptx64.after.s
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn offload-specialize-align "2=align:64;3=align:64"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.amdgcn.before.ll
// RUN: FileCheck %s --check-prefixes=AFTER,AMDGCN < %t.amdgcn.after.ll

struct pair {
  double a, b;
};

void run(struct pair *x, struct pair *y, int n) {
#pragma omp target map(tofrom : x[0 : n * 4], y[0 : n * 4])
#pragma omp teams distribute
  for (int i = 0; i < n; i++) {
#pragma omp parallel for
    for (int j = 0; j < n; j++) {
      x[4 * j].a = y[4 * j].a;
      x[4 * j].b = y[4 * j].b;
    }
  }
}

// BEFORE: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// BEFORE-NOT: align 64
// BEFORE: load {{.*}}double{{.*}}, align 8
// BEFORE-NOT: align 64

// AFTER: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// X86_64: load <2 x double>, ptr %{{.*}}, align 64
// X86_64: store <2 x double> %{{.*}}, ptr %{{.*}}, align 64
// AARCH64: load <2 x double>, ptr %{{.*}}, align 64
// AARCH64: store <2 x double> %{{.*}}, ptr %{{.*}}, align 64
// NVPTX64: load double, ptr %{{.*}}, align 64
// NVPTX64: store double %{{.*}}, ptr %{{.*}}, align 64
// AMDGCN: load double, ptr %{{.*}}, align 64
// AMDGCN: store double %{{.*}}, ptr %{{.*}}, align 64

// In machine code: accesses that must be aligned, and one for both numbers. (AMD's GPUs load both at once without.)
// X86_64-UNALIGNED-NOT: movaps
// X86_64-UNALIGNED: movups {{.*}}(%{{.*}}), %xmm
// X86_64-ALIGNED-NOT: movups
// X86_64-ALIGNED: movaps {{.*}}(%{{.*}}), %xmm
// X86_64-ALIGNED-NOT: movups
// NVPTX64-UNALIGNED-NOT: ld{{.*}}.v2
// NVPTX64-UNALIGNED: st.{{[fb]}}64 [{{.*}}+8], %
// NVPTX64-ALIGNED: ld.v2.{{[fb]}}64
// NVPTX64-ALIGNED: st.v2.{{[fb]}}64
