// What LLVM makes of floating-point operations is the same bits in a variant as ahead of time: in functions that are not to be optimised
// too.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o usual %omp_link -lm
// RUN: env OFFLOOM_JIT=off %run_offload ./usual > usual.off
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./usual > usual.sync 2> usual.log
// RUN: diff usual.off usual.sync
// RUN: grep -c '1 launches ran a variant' usual.log | FileCheck --check-prefix=RAN %s
// RAN: {{^2$}}

// Some of it not optimised.
// RUN: %clangxx -O0 -DPART -B %dropin %omp_compile -foffload-lto -c %s -o part.o
// RUN: %clangxx -O2 -DREST -B %dropin %omp_compile -foffload-lto -c %s -o rest.o
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit part.o rest.o -o mixed %omp_link -lm
// RUN: env OFFLOOM_JIT=off %run_offload ./mixed > mixed.off
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./mixed > mixed.sync
// RUN: diff mixed.off mixed.sync
#include <cmath>
#include <cstdio>
#include <cstring>

constexpr int Count = 20000;
void not_optimized(const double *a, double *r, int count);
void multiply_and_add(const double *a, double *r, int count, double factor, double summand);

#ifndef REST
#pragma omp begin declare target
__attribute__((optnone, noinline)) static double square(double x) { return pow(x, 2.0); }
#pragma omp end declare target

void not_optimized(const double *a, double *r, int count) {
#pragma omp target map(to : a[ : count]) map(from : r[ : count])
  for (int i = 0; i < count; ++i)
    r[i] = square(a[i]);
}

void multiply_and_add(const double *a, double *r, int count, double factor, double summand) {
#pragma omp target map(to : a[ : count]) map(from : r[ : count])
  for (int i = 0; i < count; ++i)
    r[i] = pow(a[i], 2.0) * factor + summand;
}
#endif

#ifndef PART
int main() {
  static double a[Count], r[Count];
  unsigned long long seed = 1;
  for (double &x : a) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = (double)(seed >> 12) / (double)(1ull << 50);
  }
  auto Show = [&](const char *Name) {
    unsigned long long hash = 0;
    for (double x : r) {
      unsigned long long bits;
      memcpy(&bits, &x, sizeof bits);
      hash = (hash ^ bits) * 1099511628211u ^ hash >> 29;
    }
    printf("%s %llx %a\n", Name, hash, r[3]);
  };
  not_optimized(a, r, Count);
  Show("not optimized");
  a[3] = 0.1;
  multiply_and_add(a, r, Count, 0.1, -0.001);
  Show("multiplied and added");
}
#endif
