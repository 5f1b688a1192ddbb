// What launches of a variant took on one machine's GPU, machines with a GPU of the same model know from a remote store, and do not time again; one with
// another model does. `../jit/Inputs/remote_cache.py` has the case.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice, redis
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64-nvidia-cuda --cuda-path=%cuda -B %dropin %s %gpu_options %omp_link \
// RUN:   --offload-arch=sm_80,sm_90 -Xoffload-linker --jit -o jit
// RUN: echo 'done: 0' > expected
// RUN: env OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY python3 %S/../jit/Inputs/remote_cache.py %offloom ./jit \
// RUN:   expected gpu none ./jit
#include <cstdio>

// Code that knows the divisor to be 1 has nothing to add up.
static double faster(int steps, int divisor) {
  double x = 0;
#pragma omp target map(tofrom : x)
  {
    int rest = 0;
    for (int i = 0; i < steps; ++i)
      rest += i % divisor;
    x = rest;
  }
  return x;
}

int main(int argc, char **) {
  double sum = 0;
  for (int i = 0; i < 20; ++i)
    sum += faster(argc * 20000, argc);
  std::printf("done: %.0f\n", sum);
}
