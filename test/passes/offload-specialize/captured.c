// What a region captures by reference is known in it, down to the innermost body, where it is written once, before; a variable that the
// region writes is not known.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-specialize-args "1=i32:5;3=i32:1000;4=i32:7"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.x86_64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.x86_64.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s aarch64-unknown-linux-gnu %t.aarch64 offload-specialize-args "1=i32:5;3=i32:1000;4=i32:7"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.aarch64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.aarch64.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-specialize-args "1=i32:5;3=i32:1000;4=i32:7"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.nvptx64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.nvptx64.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn offload-specialize-args "1=i32:5;3=i32:1000;4=i32:7"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.amdgcn.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.amdgcn.after.ll

void run(int *x, int n, int changed, int step) {
#pragma omp target map(tofrom : x[0 : n]) firstprivate(changed)
#pragma omp teams
#pragma omp parallel
  {
#pragma omp single
    changed = x[0];
    x[n] = changed / n + step;
  }
}

// BEFORE: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// BEFORE: sdiv i32 %{{.*}}, %
// AFTER: define {{.*}}omp_outlined{{[._]}}omp_outlined({{[^,]*, [^,]*, [^,%]*}}[[CHANGED:%[0-9]+]],
// AFTER: store i32 %{{.*}}, ptr [[CHANGED]]
// AFTER: [[VALUE:%.*]] = load i32, ptr [[CHANGED]]
// AFTER-NEXT: [[QUOTIENT:%.*]] = sdiv i32 [[VALUE]], 1000
// AFTER-NEXT: add nsw i32 [[QUOTIENT]], 7
