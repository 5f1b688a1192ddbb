// A kernel of the program accesses memory that is not there, which the driver tells much later and of no kernel: where variants have run, one line
// names the last one and says how to run without them. Without variants, nothing is said.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda -foffload-lto \
// RUN:   %gpu_options -B %dropin -Xoffload-linker --jit %s -o jit %omp_link
// DEFINE: %{run} = env LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas
// RUN: not --crash %{run} OFFLOOM_JIT=sync ./jit 2> log | FileCheck --check-prefix=OUT %s
// RUN: FileCheck --input-file=log %s && grep 'offloom-jit:' log | count 1
// RUN: not --crash %{run} OFFLOOM_JIT=off ./jit 2> log | FileCheck --check-prefix=OUT %s
// RUN: not grep 'offloom-jit:' log
// OUT: before: 12
// CHECK: offloom-jit: a kernel has failed on the device (CUDA_ERROR_ILLEGAL_ADDRESS (700)); the last variant that was launched is one of {{.*}}write{{.*}}; OFFLOOM_JIT=off
#include <cstdio>

static void write(int *to, int value) {
#pragma omp target is_device_ptr(to)
  *to = value * 3;
}

int main() {
  int value = 0;
#pragma omp target data map(from : value)
  {
#pragma omp target data use_device_addr(value)
    write(&value, 4);
  }
  std::printf("before: %d\n", value);
  std::fflush(stdout);
  write(reinterpret_cast<int *>(16), 5);
}
