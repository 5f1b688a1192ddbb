// What a mapped object holds at launch is known wherever the kernel loads it, down to the innermost body, if nothing that the kernel
// writes can be part of the object: the loop has a constant bound and the switch is gone, while the pointer in the object is still loaded, and so
// is `scale`, of the type that the kernel writes.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-specialize-contents "2=contents:0400000003000000????????????????0000000000000040"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.x86_64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.x86_64.after.ll
// RUN: FileCheck %s --check-prefix=PASS < %t.x86_64.module.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s aarch64-unknown-linux-gnu %t.aarch64 offload-specialize-contents "2=contents:0400000003000000????????????????0000000000000040"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.aarch64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.aarch64.after.ll
// RUN: FileCheck %s --check-prefix=PASS < %t.aarch64.module.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-specialize-contents "2=contents:0400000003000000????????????????0000000000000040"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.nvptx64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.nvptx64.after.ll
// RUN: FileCheck %s --check-prefix=PASS < %t.nvptx64.module.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn offload-specialize-contents "2=contents:0400000003000000????????????????0000000000000040"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.amdgcn.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.amdgcn.after.ll
// RUN: FileCheck %s --check-prefix=PASS < %t.amdgcn.module.ll

struct settings {
  int terms;
  unsigned bits;
  const long *table;
  double scale;
};

void run(struct settings settings, double *values, int count) {
#pragma omp target teams distribute parallel for map(to : settings) map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < settings.terms; ++j)
      values[i] += (double)(settings.table[j] << settings.bits) * settings.scale;
}

// BEFORE: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// BEFORE: shl i64 %{{.*}}, %
// AFTER: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// AFTER-NOT: shl i64 %{{.*}}, %
// AFTER-DAG: load ptr, ptr
// AFTER-DAG: shl i64 %{{.*}}, 3
// AFTER-NOT: shl i64 %{{.*}}, %
// PASS: define {{.*}}omp_outlined{{[._]}}omp_outlined(
// PASS: icmp slt i32 %{{.*}}, 4
// PASS: [[TABLE:%.*]] = getelementptr inbounds{{( nuw)?}} %struct.settings, ptr [[SETTINGS:%.*]], i32 0, i32 2
// PASS: load ptr, ptr [[TABLE]]
// PASS: shl i64 %{{.*}}, 3
// PASS: [[SCALE:%.*]] = getelementptr inbounds{{( nuw)?}} %struct.settings, ptr [[SETTINGS]], i32 0, i32 3
// PASS: load double, ptr [[SCALE]]
