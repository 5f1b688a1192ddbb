// A program with two images for this device has variants of kernels of whichever libomptarget loads: each image has its bundle.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin -foffload-lto %omp_compile -fopenmp-targets=x86_64-pc-linux-gnu,x86_64-unknown-linux-gnu -Wl,--jit %s -o program %omp_link 2>&1 | FileCheck --check-prefix=LINK %s
// LINK: warning: more than one image is for the host's processor
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 %run_offload ./program 2>&1 | FileCheck %s
// CHECK: attached 1 kernel,
// CHECK: attached 1 kernel,
// CHECK: {{[0-9]+}} launch{{(es)?}} ran a variant

#include <cstdio>

int main() {
  int count = 200;
  double values[200];
  for (int repetition = 0; repetition < 300; ++repetition) {
#pragma omp target map(from : values) firstprivate(count)
    for (int i = 0; i < count; ++i)
      values[i] = i * 3.0 / count;
  }
  std::printf("%g\n", values[100]);
}
