// Device code that nothing names in the IR: what is found from the start of a section to its end, and a function of the compiler's library that
// the program has itself. It is there after a link as bitcode, in the image and in variants.
// RUN: %clangxx -O2 %omp_compile %s %omp_link -o %t.stock && %run_offload %t.stock | FileCheck %s
// RUN: %clangxx -B %dropin -O2 -foffload-lto %omp_compile %s %omp_link -o %t && %run_offload %t | FileCheck %s
// RUN: %clangxx -B %dropin -O2 -foffload-lto -Xoffload-linker --jit %omp_compile %s %omp_link -o %t.jit
// RUN: env OFFLOOM_JIT=off %run_offload %t.jit | FileCheck %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 %run_offload %t.jit | FileCheck %s
// RUN: %clangxx -B %dropin -O2 -foffload-lto -Xoffload-linker --jit=only %omp_compile %s %omp_link -o %t.only
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 %run_offload %t.only | FileCheck %s
#include <cstdio>
#include <cstring>
#pragma omp begin declare target
using Site = const char *;
extern "C" const Site __start_sites[] __attribute__((visibility("hidden")));
extern "C" const Site __stop_sites[] __attribute__((visibility("hidden")));
#define SITE(name) __attribute__((used, section("sites"))) static const Site site = name
static double twice(double x) {
  SITE("twice");
  return 2 * x;
}
static double thrice(double x) {
  SITE("thrice");
  return 3 * x;
}
extern "C" __attribute__((visibility("hidden"))) __bf16 __truncsfbf2(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, 4);
  unsigned short upper = bits >> 16;
  __bf16 result;
  std::memcpy(&result, &upper, 2);
  return result;
}
#pragma omp end declare target

int main(int argc, char **) {
  double sum = argc;
  long sites = 0;
#pragma omp target map(sum, sites)
  {
    sum = twice(sum) + thrice(sum);
    sites = __stop_sites - __start_sites;
  }
  // CHECK: 5, 2 sites
  std::printf("%g, %ld sites\n", sum, sites);
  float x = argc + 1.5f;
#pragma omp target map(x)
  {
    volatile __bf16 narrow = (__bf16)x;
    x = (float)narrow + 1;
  }
  // CHECK: 3.5
  std::printf("%g\n", x);
}
