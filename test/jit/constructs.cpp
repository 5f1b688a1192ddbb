// What device code is made of besides loops: exceptions caught inside the region, reductions, tasks, nested parallelism,
// `link` variables, weak symbols, static objects with constructors, mathematics, printing, large literals and literals by
// value. Variants print what the stock program prints.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link -lm
// RUN: env OMP_NUM_THREADS=2 %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link -lm
// RUN: env OMP_NUM_THREADS=2 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit > jit.out 2> log
// RUN: cmp stock.out jit.out
// RUN: not grep 'stays ahead of time' log
// RUN: grep -c '2 launches ran a variant' log | FileCheck --check-prefix=RAN %s
// RAN: {{^8$}}

// Unoptimised device code, in which kernels are marked to be always inlined.
// RUN: %clangxx -O0 %omp_compile %s -o stock0 %omp_link -lm
// RUN: env OMP_NUM_THREADS=2 %run_offload ./stock0 > stock0.out
// RUN: %clangxx -O0 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit0 %omp_link -lm
// RUN: env OMP_NUM_THREADS=2 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit0 > jit0.out
// RUN: cmp stock0.out jit0.out

// With debug information.
// RUN: %clangxx -O2 -g -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jitg %omp_link -lm
// RUN: env OMP_NUM_THREADS=2 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jitg > jitg.out
// RUN: cmp stock.out jitg.out
#include "Inputs/virtual_calls.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

struct Options {
  double scale;
  int shift;
  unsigned char bytes[9];
};

int linked[1000];
#pragma omp declare target link(linked)

#pragma omp declare target
struct Counter {
  int value;
  Counter() : value(41) {}
  int next() { return ++value; }
};
static Counter built;
static const double table[] = {0.5, 1.25, -3.0, 1e300};
extern "C" __attribute__((weak)) int not_defined_anywhere(int);
__attribute__((weak)) int replaceable(int x) { return x + 5; }
static int failing(int x) {
  if (x > 2)
    throw std::runtime_error("too large");
  return x;
}
#pragma omp end declare target

int main() {
  for (int round = 0; round < 2; ++round) {
    int caught = 0;
#pragma omp target map(tofrom : caught)
    {
      for (int i = 0; i < 5; ++i)
        try {
          caught += failing(i);
        } catch (const std::exception &error) {
          caught += 100 * (int)std::strlen(error.what());
        }
    }
    std::printf("exceptions %d\n", caught);

    long sum = 0;
    const int n = 1000 + round;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : sum)
    for (int i = 0; i < n; ++i)
      sum += i * (round + 1);
    std::printf("reduction %ld\n", sum);

    int tasks[8] = {};
#pragma omp target map(tofrom : tasks)
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 8; ++i)
#pragma omp task firstprivate(i) shared(tasks)
      tasks[i] = i * i + round;
    std::printf("tasks %d %d\n", tasks[3], tasks[7]);

#pragma omp target data map(tofrom : linked)
    {
#pragma omp target
      for (int i = 0; i < 1000; ++i)
        linked[i] += i + round;
    }
    std::printf("link %d %d\n", linked[1], linked[999]);

    int weak[3] = {};
#pragma omp target map(from : weak)
    {
      weak[0] = not_defined_anywhere ? 1 : 2;
      weak[1] = replaceable(round);
      weak[2] = built.next();
    }
    std::printf("weak %d %d, constructed %d\n", weak[0], weak[1], weak[2]);

    Options options = {1.5, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
    float small = 0.25f;
    signed char tiny = -3;
    double results[4] = {};
#pragma omp target map(to : options) map(from : results) firstprivate(small, tiny)
    {
      for (int i = 0; i < 4; ++i)
        results[i] = table[i] * options.scale * small + tiny + (options.bytes[i] << options.shift);
    }
    std::printf("literals %a %a %a %a\n", results[0], results[1], results[2], results[3]);

    double values[32];
#pragma omp target map(from : values)
    for (int i = 0; i < 32; ++i)
      values[i] = std::pow(1.0 + i, 0.3) + std::sin(i * 0.7) / std::exp2(i * 0.1);
    std::printf("mathematics %a %a\n", values[5], values[31]);

    int nested = 0;
#pragma omp target map(tofrom : nested)
    {
#pragma omp parallel num_threads(2) reduction(+ : nested)
#pragma omp parallel for reduction(+ : nested)
      for (int i = 0; i < 10; ++i)
        nested += i;
      std::printf("printed by the kernel, round %d\n", round);
    }
    std::printf("nested %d\n", nested);
    std::fflush(stdout);
  }
}
