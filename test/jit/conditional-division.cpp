// An address that is computed from a division which only some iterations make: LLVM 19 and 22 vectorise such a loop (`simd`) into code that
// reads anywhere, ahead of time too. Neither the image nor variants are made so here.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=off %run_offload ./jit | FileCheck %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OMP_NUM_THREADS=1 %run_offload ./jit | FileCheck %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OMP_NUM_THREADS=2 %run_offload ./jit | FileCheck %s
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit=only %s -o only %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./only | FileCheck %s
// CHECK: 100 of one place, 100 of eight: as expected
#include <cstdio>
#include <vector>

constexpr int Count = 100;

// The same place each time.
static void takeOne(int n, int after, const int *from, int *to) {
#pragma omp target teams distribute parallel for simd map(to : from[0 : n + 1]) map(from : to[0 : Count])
  for (int i = 0; i < Count; ++i) {
    int taken = i;
    if (i > after)
      for (int j = 0; j < 6; ++j)
        taken ^= from[unsigned(j) % unsigned(n)];
    to[i] = taken;
  }
}

// The same place for eight iterations.
static void takeEight(int n, int after, const int *from, int *to) {
#pragma omp target teams distribute parallel for simd map(to : from[0 : n + 1]) map(from : to[0 : Count])
  for (int i = 0; i < Count; ++i) {
    int taken = i;
    if (i > after)
      taken ^= from[unsigned(i / 8) % unsigned(n)];
    to[i] = taken;
  }
}

int main() {
  bool same = true;
  for (int n : {100, 7, 3, 0}) {
    // By none, nobody divides.
    const int after = n == 0 ? Count : 41;
    std::vector<int> from(n + 1), one(Count), eight(Count);
    for (int i = 0; i < n; ++i)
      from[i] = 3 * i + 1;
    takeOne(n, after, from.data(), one.data());
    takeEight(n, after, from.data(), eight.data());
    for (int i = 0; i < Count; ++i) {
      int expected = i;
      for (int j = 0; i > after && j < 6; ++j)
        expected ^= from[j % n];
      same &= one[i] == expected && eight[i] == (i > after ? i ^ from[i / 8 % n] : i);
    }
  }
  std::printf("%d of one place, %d of eight: %s\n", Count, Count, same ? "as expected" : "different");
}
