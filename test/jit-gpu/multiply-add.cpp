// A product of which both factors become constants stays a part of the operation that it is fused into: same bits as ahead of time.
// REQUIRES: cuda, device-runtime, gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -fopenmp-targets=nvptx64 --offload-arch=%gpu_processor --cuda-path=%cuda -foffload-lto -B %dropin -Xoffload-linker --jit \
// RUN:   %gpu_options %s -o jit %omp_link
// DEFINE: %{run} = %run_gpu OFFLOOM_VIRTUAL_GPU=%gpu_processor OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off
// RUN: %{run} OFFLOOM_JIT=off ./jit > expected
// RUN: %{run} OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1 ./jit 2> log | diff expected -
// RUN: FileCheck --input-file=log %s
// CHECK: {{[1-9]}} launches ran a variant
#include <cstdio>

// Loops that are bounded by an argument, so that it is worth a variant.
static void work(double *x, float *y, int n, double s, float t) {
#pragma omp target teams distribute parallel for map(tofrom : x[:64], y[:64])
  for (int i = 0; i < 64; ++i)
    for (int k = 0; k < n; ++k) {
      x[i] = x[i] / 19.0625 - s * s;
      y[i] = t * t + y[i] * 0.7f;
    }
}

int main() {
  double x[64];
  float y[64];
  for (int i = 0; i < 64; ++i)
    x[i] = 1.0 / (i + 3), y[i] = 1.0f / (i + 7);
  volatile double s = 7.890000000000001;
  volatile float t = 0.1f;
  for (int i = 0; i < 4; ++i)
    work(x, y, 3, s, t);
  for (int i = 0; i < 64; ++i)
    std::printf("%a %a\n", x[i], y[i]);
}
