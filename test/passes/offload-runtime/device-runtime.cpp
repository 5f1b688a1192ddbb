// The packaged device runtime, linked by the pass, is what Clang links with -mlink-builtin-bitcode; for code that Clang compiled without
// optimising and for code that it optimises later. (LLVM 22 is packaged without one.)

// REQUIRES: llvm-19, device-runtime

// RUN: bash %S/Inputs/device_runtime_against_clang.sh %clangxx %opt %passes %s %t.nvptx nvptx64-nvidia-cuda sm_75 %device_runtime_folder/libomptarget-nvptx-sm_75.bc | FileCheck %s
// RUN: bash %S/Inputs/device_runtime_against_clang.sh %clangxx %opt %passes %s %t.amdgcn amdgcn-amd-amdhsa gfx90a %device_runtime_folder/libomptarget-amdgpu-gfx90a.bc | FileCheck %s

// CHECK-COUNT-2: same, with {{[1-9][0-9]+}} internal functions
// CHECK-NOT: {{.}}

#pragma omp begin declare target
int state = 3;
int helper(int x) { return x * state; }
#pragma omp end declare target

void spmd(double *values, int count) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    values[i] *= helper(i);
}

int generic(int *values) {
#pragma omp target map(values[0 : 10])
  {
    values[0] = 7;
#pragma omp parallel
    values[1]++;
  }
  return values[0];
}
