// Loops that ask for vectors, of which variants see more than the ahead-of-time code: that an array which is private to an iteration is one for all of
// them, where known bounds unroll what uses it; and a sum that is in memory as long as nobody knows which of many ways is taken to it.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -Wno-pass-failed -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=off %run_offload ./jit > off
// RUN: FileCheck --input-file=off %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> log | cmp - off
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// CHECK: reversed 1: 2 4 6
// CHECK: reversed 2: 4 2 8
// CHECK: reversed 3: 6 4 2
// CHECK-COUNT-3: sums of mode
// LOG-DAG: reverse{{.*}}: compiled in
// LOG-DAG: summed{{.*}}: compiled in
#include <cmath>
#include <cstdio>

constexpr int Count = 1000, Most = 4;
static float values[Count * Most], results[Count * Most];

static void reverse(int width) {
#pragma omp target teams distribute parallel for simd map(to : values) map(tofrom : results)
  for (int i = 0; i < Count; ++i) {
    float own[Most];
    for (int j = 0; j < width; ++j)
      own[j] = values[i * width + j] + 1;
    for (int j = 0; j < width; ++j)
      results[i * width + j] = own[width - 1 - j] * 2;
  }
  std::printf("reversed %d: %g %g %g\n", width, results[0], results[1], results[2]);
  float sum = 0;
  for (int i = 0; i < Count * width; ++i)
    sum += results[i] * (i % 97);
  std::printf("%a\n", sum);
}

// Too much to be inlined before it is known which case it is.
#define CASE(number)                                                                                                                                 \
  case number: {                                                                                                                                     \
    float found = x + number;                                                                                                                        \
    for (int i = 0; i < number % 3; ++i)                                                                                                             \
      found = found * 0.5f + x * number + y;                                                                                                         \
    if (found > y)                                                                                                                                   \
      found -= y * number;                                                                                                                           \
    if (found < -y)                                                                                                                                  \
      found += y / number;                                                                                                                           \
    sum += found * found + number;                                                                                                                   \
    break;                                                                                                                                           \
  }

static void accumulate(float &sum, float x, float y, int mode) {
  switch (mode) {
  case 0:
    sum += x * y;
    break;
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10)
    CASE(11) CASE(12) CASE(13) CASE(14) CASE(15) CASE(16) CASE(17) CASE(18) CASE(19) CASE(20)
  default:
    sum += std::sqrt(x) * y;
  }
}

static void summed(int mode) {
  float result = 0;
#pragma omp target teams distribute parallel for map(to : values) map(tofrom : result) num_teams(1)
  for (int once = 0; once < 1; ++once) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < Count; ++i)
      accumulate(sum, values[i], values[Count - 1 - i], mode);
    for (int i = 0; i < 2; ++i)
      accumulate(sum, values[i], 1, mode + i);
    result = sum;
  }
  std::printf("sums of mode %d: %a\n", mode, result);
}

int main() {
  for (int i = 0; i < Count * Most; ++i)
    values[i] = i;
  for (int width = 1; width < Most; ++width)
    reverse(width);
  unsigned random = 1;
  for (float &value : values)
    value = float((random = random * 1664525u + 1013904223u) >> 8) / 1000.f;
  for (int mode = 0; mode < 3; ++mode)
    summed(mode);
}
