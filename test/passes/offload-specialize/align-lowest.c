// A function that gets pointers of different alignment may rely on the lowest, and one that always gets the same, on that.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-specialize-align "2=align:64;3=align:16"
// RUN: FileCheck %s < %t.x86_64.module.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-specialize-align "2=align:64;3=align:16"
// RUN: FileCheck %s < %t.nvptx64.module.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn offload-specialize-align "2=align:64;3=align:16"
// RUN: FileCheck %s < %t.amdgcn.module.ll

static __attribute__((noinline)) void add_to_either(int *to) { to[0] += 1; }
static __attribute__((noinline)) void add_to_first(int *to) { to[0] += 2; }

void run(int *x, int *y, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n * 16], y[0 : n * 16])
  for (int i = 0; i < n; i++) {
    add_to_either(x + i * 16);
    add_to_either(x);
    add_to_either(y);
    add_to_first(x);
  }
}

// CHECK-DAG: define internal void @add_to_either(ptr noundef align 16 %0)
// CHECK-DAG: define internal void @add_to_first(ptr noundef align 64 %0)
