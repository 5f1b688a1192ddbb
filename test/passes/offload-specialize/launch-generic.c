// In generic mode the hardware runs more threads than the team has: only the number of teams is put in.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-specialize-launch "teams=24;threads=64"
// RUN: FileCheck %s < %t.nvptx64.module.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn offload-specialize-launch "teams=24;threads=64"
// RUN: FileCheck %s < %t.amdgcn.module.ll

// CHECK: @{{.*}}_kernel_environment = {{.*}} { i8 1, i8 1, i8 1, i32 1, i32 {{128|256}}, i32 24, i32 24, i32 0{{(, i32 0)?}} }
// CHECK-NOT: ={{.*}}"64"
// CHECK: attributes #0 = { {{.*}}"omp_target_num_teams"="24"
// CHECK-NOT: {{"64|i32 64}}

void run(int *x, int n) {
#pragma omp target teams distribute map(tofrom : x[0 : n])
  for (int i = 0; i < n; i++) {
#pragma omp parallel for
    for (int j = 0; j < i; j++)
      x[i] /= j;
  }
}
