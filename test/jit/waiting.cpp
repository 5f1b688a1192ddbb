// One thread of a kernel waits, by relaxed atomic reads, for what the host writes, and a barrier lets the others see it too: what they read then is not what was
// there at the launch.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> log | FileCheck %s
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// CHECK-COUNT-3: 5 5 5 5 5 0
// CHECK: sum 24
// LOG: launches ran a variant
#include <chrono>
#include <cstdio>
#include <omp.h>
#include <thread>

struct settings {
  int count, flag;
};

int main() {
  double out[6];
  settings shared;
  for (int round = 0; round < 3; ++round) {
    shared = {3, 0};
    for (double &each : out)
      each = 0;
    std::thread host([&shared] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      shared.count = 5;
#pragma omp flush
#pragma omp atomic write
      shared.flag = 1;
    });
    int *flag = &shared.flag;
    double *to = out;
#pragma omp target has_device_addr(shared) is_device_ptr(to, flag)
#pragma omp parallel num_threads(2)
    {
      int is_set = omp_get_thread_num() != 0;
      while (!is_set) {
#pragma omp atomic read
        is_set = *flag;
      }
#pragma omp barrier
      if (omp_get_thread_num() == 1)
        for (int i = 0; i < shared.count; ++i)
          to[i] += shared.count;
    }
    host.join();
    for (double each : out)
      std::printf("%g ", each);
    std::printf("\n");
  }
  // An update waits for nothing.
  int sum = 0;
  shared = {4, 0};
  for (int round = 0; round < 2; ++round) {
#pragma omp target map(tofrom : sum) map(to : shared)
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 3; ++i) {
#pragma omp atomic
      sum += shared.count;
    }
  }
  std::printf("sum %d\n", sum);
}
