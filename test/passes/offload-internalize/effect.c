// A function that other modules could call has to be right for all they pass. Where it is the module's own, what the kernel passes is a constant
// in it, and the division is gone.
// RUN: bash %S/../Inputs/effect.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 "" offload-internalize
// RUN: FileCheck %s --check-prefix=BEFORE < %t.x86_64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.x86_64.after.ll
// RUN: bash %S/../Inputs/effect.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 "" offload-internalize
// RUN: FileCheck %s --check-prefix=BEFORE < %t.nvptx64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.nvptx64.after.ll
// RUN: bash %S/../Inputs/effect.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn "" offload-internalize
// RUN: FileCheck %s --check-prefix=BEFORE < %t.amdgcn.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.amdgcn.after.ll

#pragma omp begin declare target
__attribute__((noinline)) int scaled(int value, int factor) {
  return factor == 3 ? value + 7 : value / factor;
}
#pragma omp end declare target

void run(int *x, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n])
  for (int i = 0; i < n; i++)
    x[i] = scaled(x[i], 3);
}

// BEFORE-DAG: define {{.*}} @scaled(i32 {{[^,]*}}, i32
// BEFORE-DAG: sdiv i32
// AFTER-NOT: sdiv
// AFTER: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// AFTER: call {{.*}} @scaled(i32 noundef %{{[0-9]+}})
// AFTER: define {{.*}} @scaled(i32 {{[^,]*}})
// AFTER-NEXT: add nsw i32 %0, 7
// AFTER-NEXT: ret i32
// AFTER-NOT: sdiv
