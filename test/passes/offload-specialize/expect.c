// A value that launches often have, but need not have, becomes the trip count of the loops that it bounds, as branch weights: short loops are
// not made into vectors. The code is right for every value: the bound stays a variable.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-specialize-args "2=expect:i32:3"
// RUN: FileCheck %s --check-prefix=MODULE < %t.x86_64.module.ll
// RUN: FileCheck %s --check-prefix=LONG < %t.x86_64.before.ll
// RUN: FileCheck %s --check-prefix=SHORT < %t.x86_64.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s aarch64-unknown-linux-gnu %t.aarch64 offload-specialize-args "2=expect:i32:3"
// RUN: FileCheck %s --check-prefix=MODULE < %t.aarch64.module.ll
// RUN: FileCheck %s --check-prefix=LONG < %t.aarch64.before.ll
// RUN: FileCheck %s --check-prefix=SHORT < %t.aarch64.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn offload-specialize-args "2=expect:i32:3"
// RUN: FileCheck %s --check-prefix=MODULE < %t.amdgcn.module.ll
// RUN: FileCheck %s --check-prefix=LONG < %t.amdgcn.before.ll
// RUN: FileCheck %s --check-prefix=SHORT < %t.amdgcn.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-specialize-args "2=expect:i32:3"
// RUN: FileCheck %s --check-prefix=MODULE < %t.nvptx64.module.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.long offload-specialize-args "2=expect:i32:1000"
// RUN: FileCheck %s --check-prefix=LONG < %t.long.after.ll

void run(float *x, int n, int m) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n * m])
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      x[i * m + j] *= 2;
}

// One loop, the innermost; nothing is known of the iterations that a thread gets.
// MODULE-NOT: !prof
// MODULE: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// MODULE-NOT: !prof
// MODULE: [[STAYS:%.*]] = icmp slt i32 %{{.*}}, %
// MODULE: br i1 [[STAYS]], {{.*}}, !prof ![[WEIGHTS:[0-9]+]]
// MODULE-NOT: !prof
// MODULE: ![[WEIGHTS]] = !{!"branch_weights", i32 3, i32 1}

// LONG: load <{{.*}} x float>
// SHORT: fmul float
// SHORT-NOT: x float>
