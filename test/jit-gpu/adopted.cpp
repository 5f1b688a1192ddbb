// A process that becomes the parent of orphans, as the first of a container does, has variants too, and no child of the library's that its own `wait` would meet.
// So has one that is told to compile in the program, which cannot make code for GPUs.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64-nvidia-cuda --offload-arch=sm_80 --cuda-path=%cuda -B %dropin \
// RUN:   -Xoffload-linker --jit %s -o program %gpu_options %omp_link
// DEFINE: %{run} = env LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_STRICT=1 \
// DEFINE:   OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1
// RUN: %{run} ./program adopt 2> cold | FileCheck %s
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='ahead of time for' --input-file=cold %s
// The cache has them for any process.
// RUN: %{run} OFFLOOM_JIT_WORKER=0 ./program 2> warm | FileCheck %s
// RUN: FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --input-file=warm %s
// RUN: rm -r cache && %{run} OFFLOOM_JIT_WORKER=0 ./program 2> cold | FileCheck %s
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='ahead of time for' --input-file=cold %s
// CHECK: sum 285, children: none
// COLD: compiled in
// COLD: 1 launch ran a variant
// WARM: found in the cache
// WARM: 1 launch ran a variant
#include <cerrno>
#include <cstdio>
#include <sys/prctl.h>
#include <sys/wait.h>

int main(int count, char **) {
  if (count > 1 && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    return 1;
  int sum = 0, most = 8 + 2 * (count > 0);
#pragma omp target teams distribute parallel for reduction(+ : sum)
  for (int i = 0; i < most; ++i)
    sum += i * i;
  const bool none = count == 1 || (waitpid(-1, nullptr, WNOHANG | __WALL) == -1 && errno == ECHILD);
  std::printf("sum %d, children: %s\n", sum, none ? "none" : "some");
}
