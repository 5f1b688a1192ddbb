// Functions with callers that only ahead-of-time code has: a kernel that has no variants, a constructor, whoever was given the address.
// What LLVM makes of a value that all callers but those hand over must not change results. Nor must callers that the image has not: what a
// file shows to others is hidden in it.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -Wl,--wrapper-verbose %s -o jit %omp_link 2> link.log
// RUN: FileCheck %s --check-prefix=LINK --input-file=link.log
// LINK-DAG: remark: __omp_offloading_{{.*}}_main_l{{[0-9]+}}: the JIT may specialise it
// LINK-DAG: remark: __omp_offloading_{{.*}}_main_l{{[0-9]+}}: stays ahead of time: {{.*}}takes the address of a label
// RUN: env OFFLOOM_JIT=off %run_offload ./jit > off.out
// RUN: env OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit > sync.out 2> log
// RUN: cmp off.out sync.out
// An image that is made when the program starts:
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only %s -o only %omp_link
// RUN: env OFFLOOM_JIT=off OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./only > off.only
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./only > sync.only
// RUN: cmp off.only sync.only
// RUN: FileCheck %s --check-prefix=LOG --input-file=log
// LOG-COUNT-5: compiled in
// In the mode `source` they do. (LLVM 23 rewrites no power that may set `errno`.)
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_FP=source OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit > source.out
// RUN: %if !llvm-23 %{ not cmp off.out source.out %}
#include "Inputs/computed_goto.h"
#include <cmath>
#include <cstdio>
#include <cstring>

#pragma omp declare target
// Not inlined, and not copied for one caller.
#define ONE_COPY static __attribute__((noinline))
ONE_COPY double left(double x, double p) { return std::pow(x, p); }
ONE_COPY double constructed(double x, double p) { return std::pow(x, p); }
ONE_COPY double given(double x, double p) { return std::pow(x, p); }
ONE_COPY double alone(double x, double p) { return std::pow(x, p); }
double never_called(double x, double p) { return alone(x, p) + 1; }
__attribute__((noinline)) double shown(double x, double p) { return std::pow(x, p); }
volatile double start = 1.5;
double at_start = constructed(start, 3);
double (*volatile kept)(double, double) = given;
#pragma omp end declare target

constexpr int Count = 1 << 16;
static double values[Count], results[Count];

static void show(const char *what) {
  unsigned long sum = 0;
  for (double result : results) {
    unsigned long bits;
    std::memcpy(&bits, &result, sizeof bits);
    sum = sum * 31 + bits;
  }
  std::printf("%s %lx\n", what, sum);
}

// A kernel, named by its line.
#define SQUARE_WITH(function)                                                                                          \
  _Pragma("omp target map(to : values) map(from : results)") for (int i = 0; i < Count; ++i) results[i] =              \
      function(values[i], 2);                                                                                          \
  show(#function)

int main() {
  unsigned long state = 1;
  for (double &value : values) {
    state = state * 6364136223846793005 + 1442695040888963407;
    value = 1 + double(state >> 11) / double(1ull << 53);
  }
  SQUARE_WITH(left);
  SQUARE_WITH(constructed);
  SQUARE_WITH(given);
  SQUARE_WITH(alone);
  SQUARE_WITH(shown);
#pragma omp target map(tofrom : results)
  {
    results[0] = left(steps(77), 3) + kept(3, 3) + at_start;
  }
  show("ahead of time");
}
