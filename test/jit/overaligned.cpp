// libomptarget's memory is aligned to 16 bytes, also for mapped types that ask for more: code for x86-64 moves no more at once. Variants for
// processors with wider vectors must not rely on the types either, nor on what `aligned` clauses and references promise.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: FileCheck --input-file=stock.out %s
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_STATS=stats OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit > jit.out
// RUN: cmp stock.out jit.out
// RUN: %dist/bin/offloom explain stats | FileCheck --check-prefix=STATS %s
// STATS-COUNT-5: 16 launches: 0 ahead of time, 16 of variants
// CHECK: 16 launches, misaligned for 64 bytes: yes
// CHECK-COUNT-5: {{^4288$}}
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <omp.h>

typedef double double8 __attribute__((ext_vector_type(8)));

struct alignas(64) Cell {
  double value[8];
};

enum { cells = 16, launches = 16 };

static void vectors(double8 *a, const double8 *b, int n) {
#pragma omp target teams distribute parallel for map(tofrom : a[0 : n]) map(to : b[0 : n])
  for (int i = 0; i < n; ++i)
    a[i] += b[i];
}

static void structs(Cell *a, const Cell *b, int n) {
#pragma omp target teams distribute parallel for map(tofrom : a[0 : n]) map(to : b[0 : n])
  for (int i = 0; i < n; ++i) {
    Cell &to = a[i];
    const Cell &from = b[i];
    for (int j = 0; j < 8; ++j)
      to.value[j] += from.value[j];
  }
}

static void copies(Cell *a, const Cell *b, int n) {
#pragma omp target teams distribute parallel for map(tofrom : a[0 : n]) map(to : b[0 : n])
  for (int i = 0; i < n; ++i) {
    Cell sum = a[i];
    for (int j = 0; j < 8; ++j)
      sum.value[j] += b[i].value[j];
    a[i] = sum;
  }
}

static void clause(double *a, const double *b, int n) {
#pragma omp target map(tofrom : a[0 : n]) map(to : b[0 : n])
#pragma omp simd aligned(a, b : 64)
  for (int i = 0; i < n; ++i)
    a[i] += b[i];
}

static void by_value(double *a, int n, Cell cell) {
#pragma omp target teams distribute parallel for map(tofrom : a[0 : n])
  for (int i = 0; i < n; ++i) {
    Cell copy = cell;
    a[i] += copy.value[i % 8];
  }
}

static double sum(const double *values) {
  double sum = 0;
  for (int i = 0; i < 8 * cells; ++i)
    sum += values[i];
  return sum;
}

/// Memory as libomptarget's own may be: aligned to 16 bytes, and to no more.
static double *mapped() {
  const int device = omp_get_default_device();
  void *host = std::aligned_alloc(64, sizeof(Cell) * cells);
  const auto start = reinterpret_cast<std::uintptr_t>(omp_target_alloc(sizeof(Cell) * cells + 128, device));
  const std::uintptr_t misaligned = (start + 63) / 64 * 64 + 16;
  omp_target_associate_ptr(host, reinterpret_cast<void *>(misaligned), sizeof(Cell) * cells, 0, device);
  return static_cast<double *>(host);
}

int main() {
  enum { values = 8 * cells };
  double *a[5], *b = mapped();
  for (int i = 0; i < values; ++i)
    b[i] = i % 4 + 0.5;
#pragma omp target update to(b[0 : values])
  for (double *&one : a) {
    one = mapped();
    for (int i = 0; i < values; ++i)
      one[i] = i % 4;
#pragma omp target update to(one[0 : values])
  }
  bool is_misaligned = false;
#pragma omp target map(from : is_misaligned) map(to : b[0 : values])
  is_misaligned = reinterpret_cast<std::uintptr_t>(b) % 64 == 16;
  for (int launch = 0; launch < launches; ++launch) {
    vectors(reinterpret_cast<double8 *>(a[0]), reinterpret_cast<double8 *>(b), cells);
    structs(reinterpret_cast<Cell *>(a[1]), reinterpret_cast<Cell *>(b), cells);
    copies(reinterpret_cast<Cell *>(a[2]), reinterpret_cast<Cell *>(b), cells);
    clause(a[3], b, values);
    by_value(a[4], values, *reinterpret_cast<Cell *>(b));
  }
  std::printf("%d launches, misaligned for 64 bytes: %s\n", launches, is_misaligned ? "yes" : "no");
  for (double *one : a) {
#pragma omp target update from(one[0 : values])
    std::printf("%g\n", sum(one));
  }
}
