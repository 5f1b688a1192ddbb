// What the JIT compiles and loads is a range on a profiler's time line, by NVTX: as the library hears of it that NVTX_INJECTION64_PATH names, as a
// profiler's does. `Inputs/nvtx_tool.c` stands in for one. What the program prints is the same with it and without, and with one that is of no use.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64-nvidia-cuda --cuda-path=%cuda -B %dropin %s %gpu_options %omp_link \
// RUN:   --offload-arch=sm_80 -Xoffload-linker --jit -o jit
// RUN: %clang -shared -fPIC -O1 -Wall -Werror %S/Inputs/nvtx_tool.c -o tool.so
// DEFINE: %{run} = env OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_STRICT=1 LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY

// RUN: %{run} OFFLOOM_JIT=sync NVTX_INJECTION64_PATH=%t/tool.so ./jit 2>&1 | FileCheck --implicit-check-not='{{[[]}}' %s
// CHECK:      [Offloom: compile __omp_offloading_{{.*}}main_l[[#LINE:]]
// CHECK-NEXT: ]
// CHECK-NEXT: [Offloom: load __omp_offloading_{{.*}}main_l[[#LINE]]
// CHECK-NEXT: ]
// CHECK-NEXT: 6

// Beside the program, too.
// RUN: %{run} OFFLOOM_JIT=async NVTX_INJECTION64_PATH=%t/tool.so ./jit wait 2>&1 | FileCheck --check-prefix=BESIDE %s
// BESIDE-DAG: [Offloom: compile __omp_offloading_{{.*}}main_l[[#LINE:]]
// BESIDE-DAG: {{^}}6

// RUN: %{run} OFFLOOM_JIT=sync NVTX_INJECTION64_PATH=%t/none.so ./jit 2>&1 | FileCheck --check-prefix=ALONE %s
// RUN: %{run} OFFLOOM_JIT=sync ./jit 2>&1 | FileCheck --check-prefix=ALONE %s
// RUN: %{run} OFFLOOM_JIT=off NVTX_INJECTION64_PATH=%t/tool.so ./jit 2>&1 | FileCheck --check-prefix=ALONE %s
// ALONE-NOT: {{.}}
// ALONE: {{^}}6
// ALONE-NOT: {{.}}
#include <cstdio>
#include <unistd.h>

int main(int argc, char **argv) {
  int sum = 0, factor = argc > 1 ? 2 : 1;
  for (int i = 0; i < (argc > 1 ? 300 : 1); ++i) {
    sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(factor)
    for (int j = 0; j < 4; ++j)
      sum += j * factor / factor;
    if (argc > 1)
      usleep(10000);
  }
  std::printf("%d\n", sum);
}
