// Values that change at every launch: after a few variants the argument is left alone, in the foreground and in the background,
// from one thread and from sixteen, while an argument that stays the same is still specialised. Negative values, -0.0, NaN,
// and launches without iterations are values like any other.
// REQUIRES: x86_64-device
// DEFINE: %{log} = env OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 %{log} %run_offload ./jit 2> sync | cmp - stock.out
// RUN: env OFFLOOM_JIT=async OFFLOOM_JIT_RETIRE=0 %{log} %run_offload ./jit 2> async | cmp - stock.out
// RUN: env OFFLOOM_JIT=sync %{log} %run_offload ./jit 2> retired | cmp - stock.out
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_THRESHOLD=2 OFFLOOM_JIT_RATIO=0 OFFLOOM_JIT_RETIRE=0 %{log} %run_offload ./jit 2> early | cmp - stock.out

// Every launch has another first factor; the second is the same in all. T = 16 by default, R = 0.5: the first factor is megamorphic
// by the seventeenth variant or so, and what comes then has the second alone.
// RUN: awk '/compiled in/ { ++count } END { exit count > 60 }' sync
// RUN: awk '/compiled in/ { ++count } END { exit count > 60 }' async
// RUN: FileCheck --check-prefix=BOTH --input-file=sync %s
// BOTH: compiled in {{.*}}=i32:0x{{[0-9a-f]+}};{{.*}}=i32:0x7
// BOTH: compiled in {{.*}}=any;{{.*}}=i32:0x7
// RUN: awk '/compiled in/ { ++count } END { exit count < 3 || count > 19 }' early
#include <cmath>
#include <cstdio>
#include <limits>
#include <thread>
#include <vector>

// The launch of every thread: as many iterations as `count`, each with a branch and a division by what may be constants.
static long launch(int count, int divisor, const int *values) {
  long sum = 0;
#pragma omp target map(tofrom : sum) map(to : values[0 : 64])
  for (int i = 0; i < count; ++i)
    sum += values[(i * 5) % 64] / divisor + (divisor > 5 ? i : -i);
  return sum;
}

static double scaled(double factor, int count, const int *values) {
  double result = 0;
#pragma omp target map(from : result) map(to : values[0 : 64])
  {
    double sum = -0.0;
    for (int i = 0; i < count; ++i)
      sum += factor > 1 ? values[i] * factor : values[i] + factor;
    result = sum;
  }
  return result;
}

int main() {
  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i)
    values[i] = 1000 - 37 * i;
  long sum = 0;
  for (int round = 0; round < 500; ++round)
    sum = sum * 3 + launch(round % 200 - 20, 7, values.data());
  std::printf("%ld\n", sum);
  std::vector<long> sums(16);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 16; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 50; ++round)
        sums[thread] = sums[thread] * 3 + launch((thread * 50 + round) % 90, 7, values.data());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const long part : sums)
    std::printf("%ld\n", part);
  const double inputs[] = {2.5, -0.0, 0.0, std::nan(""), -7.25, std::numeric_limits<double>::infinity(), 2.5};
  for (const double input : inputs)
    for (const int count : {0, 1, 17}) {
      const double result = scaled(input, count, values.data());
      if (std::isnan(result))
        std::printf("nan\n");
      else
        std::printf("%a\n", result);
    }
}
