// The disk that the cache is on is full: cubins are used and not kept, which is said in one line, and no part of one is left there.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice, mounts
// RUN: rm -rf %t && mkdir -p %t/disk && cd %t
// RUN: %clangxx -O2 -fopenmp -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda -foffload-lto \
// RUN:   %gpu_options -B %dropin -Xoffload-linker --jit %s -o jit %omp_link
// DEFINE: %{run} = env LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=rw \
// DEFINE:   OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_CACHE_DIR=%t/disk/cache OFFLOOM_JIT_STATS=%t/stats
// RUN: unshare --user --map-root-user --mount sh -c 'mount -t tmpfs -o size=8k none disk && "$@" && find disk -type f -size +0 > left' sh %{run} ./jit > out 2> log
// RUN: FileCheck --input-file=out %s && FileCheck --check-prefix=LOG --input-file=log %s && count 1 < log
// RUN: not grep -v '/v2/uses$' left
// RUN: grep -o '"launches_of_variants": *[0-9]*' stats | FileCheck --check-prefix=RAN %s
// LOG: No space left on device
// RAN: "launches_of_variants": 2
// CHECK: 10 21
#include <cstdio>

static int sum(int n) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < n; ++i)
    sum += i;
  return sum;
}

int main() { std::printf("%d %d\n", sum(5), sum(7)); }
