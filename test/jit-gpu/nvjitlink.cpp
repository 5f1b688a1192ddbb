// Where no ptxas is installed, NVIDIA's library nvJitLink assembles: containers that only run CUDA programs have it. The virtual GPU runs none of its
// cubins, which hold no PTX, so they are made for a machine that is not here and looked at.
// REQUIRES: llvm-19, cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64-nvidia-cuda --cuda-path=%cuda -B %dropin %s %gpu_options %omp_link \
// RUN:   --offload-arch=sm_80,sm_90 -Xoffload-linker --jit -Xcuda-ptxas --maxrregcount=64 -o program
// RUN: env LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_VIRTUAL_GPU=sm_80 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas \
// RUN:   OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STATS=stats.json ./program
// DEFINE: %{assembler} = %cuda/lib64/libnvJitLink.so.12
// DEFINE: %{precompile} = env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_PTXAS=%{assembler} %offloom precompile --target sm_90 stats.json ./program
// RUN: %{precompile} | FileCheck --check-prefix=MADE %s
// MADE: sm_90 add{{.*}} threads = {{[0-9]+}} compiled
// MADE: 1 variant is in the cache, 1 compiled now
//
// It is a cubin for this processor, with the variant's code.
// RUN: python3 %S/Inputs/cubin-of.py cache > cubin && llvm-readelf --file-headers --sections --wide cubin | FileCheck --check-prefix=CUBIN %s
// CUBIN: Machine: {{.*}}CUDA
// CUBIN: .text.__omp_offloading_{{.*}}add{{.*}}$jit
//
// What another assembler makes is another thing.
// RUN: %{precompile} | FileCheck --check-prefix=THERE %s
// THERE: 1 variant is in the cache, 0 compiled now
// REDEFINE: %{assembler} = %cuda/bin/ptxas
// RUN: %{precompile} | FileCheck --check-prefix=MADE %s
//
// What is neither is said.
// REDEFINE: %{assembler} = %t/libother.so
// RUN: cp program libother.so && not %{precompile} 2>&1 | FileCheck --check-prefix=OTHER %s
// OTHER: offloom: cannot precompile `{{.*}}program`: `{{.*}}libother.so` does not say its version as ptxas does
#include <cstdio>

static void add(int *values, int count, int step) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    values[i] += step * count;
}

int main() {
  int values[200] = {};
  volatile int count = 100;
  for (int i = 0; i < 3; ++i)
    add(values, count, 2);
  return values[0] != 600;
}
