// A weak alias in device bitcode, and a native object whose definition takes its place: variants call that as the image does. One that only a
// kernel without variants uses, of a variable that others change.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clang -O2 %omp_compile -DPART -c %s -o part.o
// RUN: %clang -O2 %omp_compile %s part.o -o stock %omp_link -lm && %run_offload ./stock > stock.out && FileCheck --input-file=stock.out %s
// CHECK: replaced 2, own 5, counted 3, second 20
// RUN: %clang -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s part.o -o jit %omp_link -lm 2> /dev/null
// DEFINE: %{run} = env OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload ./jit
// RUN: env OFFLOOM_JIT=off %{run} | cmp - stock.out
// RUN: env OFFLOOM_JIT=sync %{run} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// LOG: launches ran a variant
#pragma omp begin declare target
#ifdef PART
int replaced(void) { return 2; }
int second = 20;
#else
#include <fenv.h>
#include <stdio.h>

__attribute__((noinline)) int first(void) { return 1; }
__attribute__((noinline)) int fifth(void) { return 5; }
int replaced(void) __attribute__((weak, alias("first")));
int own(void) __attribute__((weak, alias("fifth")));
int counted;
extern int second __attribute__((weak, alias("counted")));
#endif
#pragma omp end declare target

#ifndef PART
int main(void) {
  for (int n = 1; n < 4; ++n) {
    int x = 0, y = 0, z = 0, s = 0;
#pragma omp target map(tofrom : x, y) firstprivate(n)
    for (int i = 0; i < n; ++i) {
      x += replaced();
      y += own();
    }
#pragma omp target map(tofrom : z) firstprivate(n)
    for (int i = 0; i < n; ++i)
      z = counted += 3 - i % 2 * 3;
#pragma omp target map(tofrom : s)
    {
      fesetround(FE_UPWARD);
      s = second;
      fesetround(FE_TONEAREST);
    }
    printf("replaced %d, own %d, counted %d, second %d\n", x / n, y / n, z, s);
  }
}
#endif
