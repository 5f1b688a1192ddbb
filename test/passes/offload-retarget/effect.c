// The innermost body is made of what the new processor has and the old one has not: vectors of eight, the least of two half-precision
// numbers, a multiplication that adds in place.
// RUN: bash %S/../Inputs/effect.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-internalize "offload-internalize,offload-retarget<cpu=x86-64-v3>"
// RUN: FileCheck %s --check-prefix=X86_64-BEFORE < %t.x86_64.before.s
// RUN: FileCheck %s --check-prefix=X86_64-AFTER < %t.x86_64.after.s
// RUN: bash %S/../Inputs/effect.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-internalize "offload-internalize,offload-retarget<cpu=sm_90>"
// RUN: FileCheck %s --check-prefix=NVPTX64-BEFORE < %t.nvptx64.before.s
// RUN: FileCheck %s --check-prefix=NVPTX64-AFTER < %t.nvptx64.after.s
// RUN: bash %S/../Inputs/effect.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn offload-internalize "offload-internalize,offload-retarget<cpu=gfx90a>"
// RUN: FileCheck %s --check-prefix=AMDGCN-BEFORE < %t.amdgcn.before.s
// RUN: FileCheck %s --check-prefix=AMDGCN-AFTER < %t.amdgcn.after.s

#ifdef __NVPTX__
typedef _Float16 number;
#define COMBINED(A, B) __builtin_fminf16(A, B)
#elif defined(__AMDGCN__)
typedef double number;
#define COMBINED(A, B) ((A) + (B) * (B))
#else
typedef float number;
#define COMBINED(A, B) ((A) + (B))
#endif

void run(number *x, number *y, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n], y[0 : n])
  for (int i = 0; i < n; i++)
    x[i] = COMBINED(x[i], y[i]);
}

// X86_64-BEFORE-NOT: %ymm
// X86_64-BEFORE: addps {{.*}}%xmm
// X86_64-BEFORE-NOT: %ymm
// X86_64-AFTER: vaddps {{.*}}%ymm
// NVPTX64-BEFORE: .target sm_70
// NVPTX64-BEFORE: min.f32
// NVPTX64-AFTER: .target sm_90
// NVPTX64-AFTER: min.f16
// AMDGCN-BEFORE: v_fma_f64
// AMDGCN-AFTER: v_fmac_f64
