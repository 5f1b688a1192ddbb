// Two devices of different architecture in one process: each has an image of its own, variants of its own, and variables of its own.
//
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64-nvidia-cuda --offload-arch=sm_80,sm_90 --cuda-path=%cuda -B %dropin \
// RUN:   -Xoffload-linker --jit %s -o program %gpu_options %omp_link
// DEFINE: %{run} = env LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_VIRTUAL_GPU=sm_80,sm_90 \
// DEFINE:   OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1
// RUN: %{run} OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 ./program > sync.out 2> sync.err
// RUN: FileCheck --input-file=sync.out %s
// RUN: FileCheck --check-prefix=SYNC --input-file=sync.err %s
// RUN: %{run} OFFLOOM_JIT=async ./program > async.out 2> async.err
// RUN: FileCheck --input-file=async.out %s
// RUN: FileCheck --check-prefix=IMAGES --input-file=async.err %s
// CHECK: device 0: counted 20, right
// CHECK: device 1: counted 20, right
// IMAGES-DAG: is on device 0, sm_80: {{[1-3]}} of its 3 kernels may have variants
// IMAGES-DAG: is on device 1, sm_90: {{[1-3]}} of its 3 kernels may have variants
// SYNC-DAG: is on device 0, sm_80: {{[1-3]}} of its 3 kernels may have variants
// SYNC-DAG: is on device 1, sm_90: {{[1-3]}} of its 3 kernels may have variants
// SYNC: image copy 0: {{[1-9][0-9]*}} launches ran a variant
// SYNC: image copy 0: {{[1-9][0-9]*}} launches ran a variant
//
// Without the JIT nothing of it is there, and without an assembler that is said once.
// RUN: %{run} OFFLOOM_JIT=off ./program 2>&1 | FileCheck --implicit-check-not=offloom %s
// RUN: env %{run} OFFLOOM_JIT_STRICT=0 OFFLOOM_JIT_PTXAS=/nonexistent OFFLOOM_JIT=sync ./program > without.out 2> without.err
// RUN: FileCheck --input-file=without.out %s
// RUN: FileCheck --check-prefix=WITHOUT --input-file=without.err %s
// WITHOUT-COUNT-1: offloom-jit: OFFLOOM_JIT_PTXAS names `/nonexistent`, which is no program that can be run, and no nvJitLink: kernels on NVIDIA GPUs stay ahead of time
// WITHOUT-NOT: nonexistent
#include <cstdio>
#include <vector>

#pragma omp begin declare target
static int launches = 0;
#pragma omp end declare target

static void add(double *values, int count, int step, int device) {
#pragma omp target teams distribute parallel for device(device) map(tofrom : values[ : count])
  for (int i = 0; i < count; ++i) {
    if (i == 0)
      ++launches;
    for (int j = 0; j < step; ++j)
      values[i] += i;
  }
}

int main() {
  for (int device = 0; device < 2; ++device) {
    std::vector<double> values(500);
    for (int time = 0; time < 20; ++time)
      add(values.data(), 500, 3, device);
    bool is_right = true;
    for (int i = 0; i < 500; ++i)
      is_right = is_right && values[i] == 60.0 * i;
    int counted = 0;
#pragma omp target device(device) map(from : counted)
    counted = launches;
    // One that uses nothing of the image.
    int sum = 0;
#pragma omp target teams distribute parallel for device(device) reduction(+ : sum)
    for (int i = 0; i < 100; ++i)
      sum += i;
    is_right = is_right && sum == 4950;
    std::printf("device %d: counted %d, %s\n", device, counted, is_right ? "right" : "wrong");
  }
}
