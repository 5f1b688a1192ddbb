// One team of one thread, on CPUs: where the runtime would form nothing else, the bodies of regions are called directly, which the kernel
// asks at run time. What a program can see is the same, with one thread and with more.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-specialize-launch "teams=1;threads=1"
// RUN: FileCheck %s --check-prefix=ENTRY < %t.x86_64.module.ll
// RUN: FileCheck %s --check-prefix=MODULE < %t.x86_64.module.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.x86_64.optimized.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s aarch64-unknown-linux-gnu %t.aarch64 offload-specialize-launch "teams=1;threads=1"
// RUN: FileCheck %s --check-prefix=ENTRY < %t.aarch64.module.ll
// RUN: FileCheck %s --check-prefix=MODULE < %t.aarch64.module.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.aarch64.optimized.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.more offload-specialize-launch "teams=2;threads=1"
// RUN: FileCheck %s --check-prefix=NOTHING < %t.more.optimized.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-specialize-launch "teams=1;threads=1"
// RUN: FileCheck %s --check-prefix=NOTHING < %t.nvptx64.optimized.ll

void run(int *x, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n])
  for (int i = 0; i < n; i++)
    x[i] += 7;
}

// ENTRY: define {{.*}} @[[KERNEL:__omp_offloading_[0-9a-z_]*]](
// ENTRY-NOT: @__kmpc_fork
// ENTRY: call void @[[KERNEL]].omp_outlined.begin(
// MODULE: define internal void @[[KERNEL:__omp_offloading_[0-9a-z_]*]].omp_outlined.one_thread(
// MODULE-NOT: @__kmpc_for
// MODULE: call void @[[KERNEL]].omp_outlined{{[._]}}omp_outlined.one_thread(
// MODULE-NOT: @__kmpc_for
// MODULE: define internal void @[[KERNEL]].omp_outlined{{[._]}}omp_outlined.one_thread(
// MODULE-NOT: @__kmpc_for
// MODULE: define internal void @[[KERNEL]].omp_outlined.begin(
// MODULE: call i32 @omp_get_max_threads()
// MODULE: call i32 @omp_get_max_teams()
// MODULE: br i1 %one_team_of_one_thread, label %direct, label %formed
// MODULE: direct:
// MODULE: call void @[[KERNEL]].omp_outlined.one_thread(
// MODULE: formed:
// MODULE: @__kmpc_fork_teams({{.*}}, ptr @[[KERNEL]].omp_outlined,

// The loop is in the kernel itself, and vectorised there.
// AFTER: define {{.*}} @__omp_offloading_{{[0-9a-z_]*}}(
// AFTER: call i32 @omp_get_max_threads()
// AFTER: call i32 @omp_get_max_teams()
// AFTER: add {{.*}}<4 x i32> %{{.*}}, {{.*}}7
// AFTER: call void {{.*}}@__kmpc_fork_teams(
// AFTER: {{^}}}

// NOTHING-NOT: omp_get_max_threads
