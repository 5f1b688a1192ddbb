// Values of scalar arguments arrive in the innermost body of the region, on every kind of device: the inner loop is unrolled, the
// division becomes a multiplication, the branch is gone.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-specialize-args "2=i32:4;4=i32:10;5=i8:0;6=i16:-3"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.x86_64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.x86_64.after.ll
// RUN: FileCheck %s --check-prefix=X86_64-DIVIDES < %t.x86_64.before.s
// RUN: FileCheck %s --check-prefix=X86_64-MULTIPLIES < %t.x86_64.after.s
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s aarch64-unknown-linux-gnu %t.aarch64 offload-specialize-args "2=i32:4;4=i32:10;5=i8:0;6=i16:-3"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.aarch64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.aarch64.after.ll
// RUN: FileCheck %s --check-prefix=AARCH64-DIVIDES < %t.aarch64.before.s
// RUN: FileCheck %s --check-prefix=AARCH64-MULTIPLIES < %t.aarch64.after.s
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-specialize-args "2=i32:4;4=i32:10;5=i8:0;6=i16:-3"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.nvptx64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.nvptx64.after.ll
// RUN: FileCheck %s --check-prefix=NVPTX64-DIVIDES < %t.nvptx64.before.s
// RUN: FileCheck %s --check-prefix=NVPTX64-MULTIPLIES < %t.nvptx64.after.s
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn offload-specialize-args "2=i32:4;4=i32:10;5=i8:0;6=i16:-3"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.amdgcn.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.amdgcn.after.ll
// RUN: FileCheck %s --check-prefix=AMDGCN-DIVIDES < %t.amdgcn.before.s
// RUN: FileCheck %s --check-prefix=AMDGCN-MULTIPLIES < %t.amdgcn.after.s

void run(int *x, int n, int m, int d, char flag, short s) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n])
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int j = 0; j < m; j++)
      sum += x[i] / d >> j;
    if (flag)
      sum *= x[i];
    x[i] = sum ^ s;
  }
}

// Variables everywhere.
// BEFORE: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// BEFORE: sdiv i32 %{{.*}}, %
// BEFORE: mul

// AFTER: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// AFTER-NOT: mul
// AFTER: [[QUOTIENT:%.*]] = sdiv i32 %{{.*}}, 10
// AFTER-NEXT: [[HALF:%.*]] = ashr i32 [[QUOTIENT]], 1
// AFTER-NEXT: add nsw i32 [[HALF]], [[QUOTIENT]]
// AFTER-NEXT: ashr i32 [[QUOTIENT]], 2
// AFTER: ashr i32 [[QUOTIENT]], 3
// AFTER-NEXT: [[SUM:%.*]] = add nsw i32
// AFTER-NEXT: [[RESULT:%.*]] = xor i32 [[SUM]], -3
// AFTER-NEXT: store i32 [[RESULT]]
// AFTER-NOT: mul

// X86_64-DIVIDES: idivl
// X86_64-MULTIPLIES-NOT: idiv
// X86_64-MULTIPLIES: 1717986919
// X86_64-MULTIPLIES-NOT: idiv
// AARCH64-DIVIDES: sdiv
// AARCH64-MULTIPLIES-NOT: sdiv
// AARCH64-MULTIPLIES: smull
// AARCH64-MULTIPLIES-NOT: sdiv
// NVPTX64-DIVIDES: div.s32
// NVPTX64-MULTIPLIES-NOT: div.s32
// NVPTX64-MULTIPLIES: 1717986919
// NVPTX64-MULTIPLIES-NOT: div.s32
// AMDGCN-DIVIDES: v_rcp_{{iflag|f32}}
// AMDGCN-MULTIPLIES-NOT: v_rcp_{{iflag|f32}}
// AMDGCN-MULTIPLIES: v_mul_hi_i32
// AMDGCN-MULTIPLIES-NOT: v_rcp_{{iflag|f32}}
