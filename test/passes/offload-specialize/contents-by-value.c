// What an object that a region gets by value (`firstprivate`) holds is known in the innermost body, though every level copies the object:
// copies are made field by field. The loop has a constant bound and the switch is gone; the pointer in the object is still loaded.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-specialize-contents "2=contents:0400000003000000????????????????0000000000000040"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.x86_64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.x86_64.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s aarch64-unknown-linux-gnu %t.aarch64 offload-specialize-contents "2=contents:0400000003000000????????????????0000000000000040"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.aarch64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.aarch64.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-specialize-contents "2=contents:0400000003000000????????????????0000000000000040"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.nvptx64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.nvptx64.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn offload-specialize-contents "2=contents:0400000003000000????????????????0000000000000040"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.amdgcn.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.amdgcn.after.ll

struct settings {
  int count;
  int kind;
  double *table;
};

void run(double *x, int n, struct settings settings) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n]) firstprivate(settings)
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int j = 0; j < settings.count; j++)
      sum += x[i] / (j + 2);
    switch (settings.kind) {
    case 1: sum += 1; break;
    case 3: sum *= 5; break;
    default: sum = settings.table[i];
    }
    x[i] = settings.table[0] + sum;
  }
}

// BEFORE: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// BEFORE: switch i32
// AFTER: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// AFTER-NOT: switch
// AFTER: [[TABLE:%.*]] = load ptr
// AFTER-NOT: switch
// AFTER: fdiv {{.*}}double{{.*}} 5.000000e+00
// AFTER: fmul {{.*}}double{{.*}} 5.000000e+00
// AFTER-NOT: switch
