// A weak function of the bitcode, in whose place the definition of a native object is: it looks at more of its argument, so launches whose
// arguments differ there have variants of their own.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile -DNATIVE -c %s -o native.o
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s native.o -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off %run_offload ./jit | FileCheck %s
// CHECK: 6 262 518 774
#pragma omp begin declare target
#ifdef NATIVE
long chosen(long value) { return value + 1; }
#else
__attribute__((weak, noinline)) long chosen(long value) { return value & 0xff; }
#endif
#pragma omp end declare target

#ifndef NATIVE
#include <cstdio>

int main() {
  for (long launch = 0; launch < 4; ++launch) {
    const long value = 5 + 256 * launch;
    long found = 0, sum = 0;
#pragma omp target map(tofrom : found, sum) firstprivate(value)
    {
      found = chosen(value);
      for (int i = 0; i < 100; ++i)
        sum += i % found;
    }
    std::printf("%ld ", found);
  }
  std::printf("\n");
}
#endif
