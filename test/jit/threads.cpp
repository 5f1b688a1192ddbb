// Several host threads launch the same kernels on all devices at once: each kernel is compiled once, and sums over what all
// threads added, kept in globals of each device, are the stock program's.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_SPECIALIZE= OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit > jit.out 2> log
// RUN: cmp stock.out jit.out
// RUN: grep -c ': compiled in' log | FileCheck --check-prefix=COMPILED %s
// RUN: grep -c ': linked into' log | FileCheck --check-prefix=LINKED %s
// RUN: grep 'launches ran' log | FileCheck %s
// COMPILED: {{^2$}}
// LINKED: {{^8$}}
// Launches that come while the code is made run ahead-of-time code.
// CHECK-COUNT-8: image copy {{[0-3]}}: {{1?[0-9]?[0-9]|200}} launch{{(es)?}} ran a variant
// Specialised to what the launches have: at once, in the background, and with variants retired.
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
// RUN: env OFFLOOM_JIT=async OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_WORKER=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
#include <cstdio>
#include <thread>
#include <vector>

#pragma omp declare target
long total = 0;
static long launches = 0;
int bump() {
  static int calls = 0;
#pragma omp atomic
  ++calls;
  return calls;
}
#pragma omp end declare target

int main() {
  std::vector<std::thread> threads;
  std::vector<long> wrong(8);
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([thread, &wrong] {
      for (int round = 0; round < 100; ++round) {
        const int device = (thread + round) % 4;
        long answer = 0;
#pragma omp target map(from : answer) device(device)
        {
#pragma omp atomic
          total += thread * 1000 + round;
#pragma omp atomic
          ++launches;
          bump();
          answer = thread * 7 + round;
        }
        int squares[64];
#pragma omp target map(from : squares) device(device)
        for (int i = 0; i < 64; ++i)
          squares[i] = i * round;
        wrong[thread] += answer != thread * 7 + round || squares[63] != 63 * round;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int device = 0; device < 4; ++device) {
#pragma omp target update from(total) device(device)
    std::printf("device %d: total %ld\n", device, total);
  }
  for (long count : wrong)
    std::printf("%ld wrong\n", count);
}
