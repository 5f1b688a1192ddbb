// What is left of a module for NVIDIA GPUs can be optimised and assembled: nothing is said in it of kernels that are gone.
// REQUIRES: cuda
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clang -O3 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target=nvptx64-nvidia-cuda -march=sm_75 --cuda-feature=+ptx63 -nogpulib --offload-device-only -Wno-openmp-target -Xclang -disable-llvm-passes -S -emit-llvm %s -o device.ll
// RUN: bash %S/Inputs/prune-last.sh %llvm_bin %passes
// RUN: not grep -F "{null," pruned.ll
// RUN: %opt -passes='default<O3>' pruned.ll -o optimized.bc
// RUN: %llvm_bin/llc -O3 -mcpu=sm_75 optimized.bc -o kernel.s
// RUN: %cuda/bin/ptxas -c -arch=sm_75 kernel.s -o kernel.cubin
void first(int *x, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n])
  for (int i = 0; i < n; i++)
    x[i] += 3;
}

void second(int *x, int n) {
#pragma omp target map(tofrom : x[0 : n])
  {
#pragma omp parallel
    x[0] += 5;
  }
}
