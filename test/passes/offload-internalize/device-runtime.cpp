// A program linked with all of the packaged device runtime: offload-internalize lets the optimiser drop what its kernels do not need.

// REQUIRES: llvm-19, device-runtime

// RUN: python3 %S/Inputs/reduction.py %llvm_bin %passes %device_runtime_folder/libomptarget-nvptx-sm_90.bc nvptx64-nvidia-cuda sm_90 %s %t.nvptx | FileCheck %s
// RUN: python3 %S/Inputs/reduction.py %llvm_bin %passes %device_runtime_folder/libomptarget-amdgpu-gfx90a.bc amdgcn-amd-amdhsa gfx90a %s %t.amdgcn | FileCheck %s

// CHECK-COUNT-6: {{^(nvptx64-nvidia-cuda|amdgcn-amd-amdhsa) .*: [0-9]+ functions, [0-9]+ variables, [0-9]+ bytes of bitcode, (no|[0-9]+ bytes of) assembly$}}

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
