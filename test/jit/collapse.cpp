// Loops that take their indices from one number, on one thread and on several: each runs a part that begins anywhere, with extents that
// are known when it is compiled. Variants run iterations with equal quotients as a loop of their own, in the same order.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=off OMP_NUM_THREADS=3 %run_offload ./jit | FileCheck %s
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit
// RUN: env OMP_NUM_THREADS=1 %{run} | FileCheck %s
// RUN: env OMP_NUM_THREADS=2 %{run} | FileCheck %s
// RUN: env OMP_NUM_THREADS=3 %{run} | FileCheck %s
// RUN: env OMP_NUM_THREADS=7 %{run} | FileCheck %s
// CHECK: 60 tables as expected
#include <cstdio>
#include <vector>

template <typename Number> static void collapsed(Number rows, Number columns, Number depth, const int *from, long *to) {
#pragma omp target teams distribute parallel for collapse(3)
  for (Number i = 0; i < rows; ++i)
    for (Number j = 0; j < columns; ++j)
      for (Number k = 0; k < depth; ++k)
        to[(i * columns + j) * depth + k] = 100 * (long)i + 10 * (long)j + k + from[(k * rows + i) * columns + j];
}

// In parts of a given length, which go to threads in turn.
template <typename Number> static void inTurn(Number rows, Number columns, Number depth, const int *from, long *to) {
#pragma omp target teams distribute parallel for collapse(3) schedule(static, 5)
  for (Number i = 0; i < rows; ++i)
    for (Number j = 0; j < columns; ++j)
      for (Number k = 0; k < depth; ++k)
        to[(i * columns + j) * depth + k] = 100 * (long)i + 10 * (long)j + k + from[(k * rows + i) * columns + j];
}

template <typename Number> static void byHand(Number rows, Number columns, Number depth, const int *from, long *to) {
  const Number count = rows * columns * depth;
#pragma omp target teams distribute parallel for
  for (Number n = 0; n < count; ++n) {
    const Number k = n % depth, j = n / depth % columns, i = n / depth / columns;
    to[n] = 100 * (long)i + 10 * (long)j + k + from[(k * rows + i) * columns + j];
  }
}

// Sums go up in one order.
template <typename Number> static void summedUp(Number rows, Number columns, Number depth, const int *from, long *to) {
#pragma omp target teams distribute parallel for
  for (Number i = 0; i < rows; ++i) {
    unsigned long sum = 0;
    for (Number n = 0; n < columns * depth; ++n) {
      const Number j = n / depth, k = n - j * depth;
      sum = 3 * sum + from[(k * rows + i) * columns + j];
      to[i * columns * depth + n] = (long)sum;
    }
  }
}

template <typename Number, typename Kernel> static int check(Kernel kernel, bool sums) {
  int right = 0;
  const Number extents[][3] = {{3, 5, 48}, {4, 16, 8}, {1, 9, 11}, {7, 2, 3}, {2, 40, 16}};
  for (const auto &extent : extents) {
    const Number rows = extent[0], columns = extent[1], depth = extent[2];
    const Number count = rows * columns * depth;
    std::vector<int> table(count);
    std::vector<long> result(count, -1);
    for (Number n = 0; n < count; ++n)
      table[n] = static_cast<int>(n * 7 % 101);
    const int *from = table.data();
    long *to = result.data();
    for (int launch = 0; launch < 3; ++launch) {
#pragma omp target data map(to : from[0 : count]) map(from : to[0 : count])
      kernel(rows, columns, depth, from, to);
    }
    bool same = true;
    for (Number i = 0; i < rows; ++i) {
      unsigned long sum = 0;
      for (Number j = 0; j < columns; ++j)
        for (Number k = 0; k < depth; ++k) {
          const long taken = from[(k * rows + i) * columns + j];
          sum = 3 * sum + taken;
          same &= to[(i * columns + j) * depth + k] == (sums ? (long)sum : 100 * (long)i + 10 * (long)j + (long)k + taken);
        }
    }
    right += same;
  }
  return right;
}

template <typename Number> static int checkAll() {
  return check<Number>(collapsed<Number>, false) + check<Number>(inTurn<Number>, false) + check<Number>(byHand<Number>, false) +
         check<Number>(summedUp<Number>, true);
}

int main() { std::printf("%d tables as expected\n", checkAll<int>() + checkAll<long>() + checkAll<unsigned long>()); }
