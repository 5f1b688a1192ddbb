// Variants have vectors of straight-line code for memory that does not overlap, which nobody knows before the launch: the same kernel with
// results behind, in and across what it reads.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: env OMP_NUM_THREADS=1 %run_offload ./stock > stock.out
// RUN: FileCheck --input-file=stock.out %s
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_STATS=stats OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OMP_NUM_THREADS=1 %run_offload ./jit > jit.out
// RUN: cmp stock.out jit.out
// RUN: %dist/bin/offloom explain stats | FileCheck --check-prefix=STATS %s
// STATS: 0 ahead of time
// CHECK-COUNT-12: the same
#include <cstdio>
#include <cstring>
#include <vector>

static void multiply(const double *a, const double *b, double *c, int extent, long products) {
#pragma omp target teams distribute parallel for
  for (long product = 0; product < products; ++product)
    for (int i = 0; i < extent; ++i)
      for (int j = 0; j < extent; ++j) {
        double sum = 0;
        for (int k = 0; k < extent; ++k)
          sum += a[(product * extent + i) * extent + k] * b[(product * extent + k) * extent + j];
        c[(product * extent + i) * extent + j] = sum;
      }
}

// The same by the host, in the order of one thread.
static void expect(const double *a, const double *b, double *c, int extent, long products) {
  for (long product = 0; product < products; ++product)
    for (int i = 0; i < extent; ++i)
      for (int j = 0; j < extent; ++j) {
        volatile double sum = 0;
        for (int k = 0; k < extent; ++k) {
          volatile double term = a[(product * extent + i) * extent + k] * b[(product * extent + k) * extent + j];
          sum = sum + term;
        }
        c[(product * extent + i) * extent + j] = sum;
      }
}

int main() {
  const long products = 40, elements = 3 * products * 16;
  // Where the results begin: behind both factors, before them, in the first one's place and in the second's, across each by one element.
  const long places[][3] = {{0, 640, 1280}, {640, 1280, 0}, {0, 640, 0},   {0, 640, 640},
                            {0, 640, 1},    {640, 0, 639},  {0, 640, 639}, {0, 640, 1279},
                            {0, 0, 0},      {0, 0, 17},     {16, 0, 4},    {0, 1280, 625}};
  for (const auto &place : places) {
    std::vector<double> memory(elements), wanted;
    for (long at = 0; at < elements; ++at)
      memory[at] = (at * 37 % 101) / 128.0 - 0.375;
    wanted = memory;
    double *all = memory.data();
    const long a = place[0], b = place[1], c = place[2];
    expect(&wanted[a], &wanted[b], &wanted[c], 4, products);
#pragma omp target data map(tofrom : all[0 : elements])
    multiply(all + a, all + b, all + c, 4, products);
    bool same = std::memcmp(all, wanted.data(), elements * sizeof(double)) == 0;
    std::printf("%ld %ld %ld: %s\n", a, b, c, same ? "the same" : "DIFFERENT");
  }
}
