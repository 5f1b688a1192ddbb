// A compile that finds no memory, before it begins or somewhere in it: results are those of the stock program, and of the crash in which LLVM ends
// then the process tells that compiles.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: sh -c 'for limit in $(seq 110 5 190); do OFFLOOM_JIT_MEMORY_LIMIT=${limit}M OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 %run_offload ./jit 2>> log | cmp - stock.out || exit 1; done'
// RUN: FileCheck --input-file=log %s
// CHECK: stays ahead of time for {{.*}}: cannot start a thread
// CHECK: stays ahead of time for {{.*}}: LLVM crashed or found no memory (SIG
// CHECK: compiled in

// A limit that the program was started with is as one of the compile's: a program without it tries again.
// RUN: sh -c 'for limit in $(seq 60 5 140); do rm -rf cache; (ulimit -d ${limit}000; env OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 %run_offload ./jit 2>> within) | cmp - stock.out && env OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 %run_offload ./jit 2>> without | cmp - stock.out || exit 1; done'
// RUN: FileCheck --check-prefix=WITHIN --input-file=within %s
// WITHIN: stays ahead of time for {{.*}}: LLVM crashed or found no memory (SIG
// RUN: not grep 'stays ahead of time' without
#include <cstdio>

// Enough of it that a compile takes more memory than a process that compiles has at hand.
#define ONE(k) sum = (sum * 31u + values[(sum + k) & 15]) % (unsigned)n;
#define TEN(k) ONE(k) ONE(k + 1) ONE(k + 2) ONE(k + 3) ONE(k + 4) ONE(k + 5) ONE(k + 6) ONE(k + 7) ONE(k + 8) ONE(k + 9)
#define HUNDRED(k) TEN(k) TEN(k + 10) TEN(k + 20) TEN(k + 30) TEN(k + 40) TEN(k + 50) TEN(k + 60) TEN(k + 70) TEN(k + 80) TEN(k + 90)

int main(int count, char **) {
  const int n = 1000 * count + 3;
  unsigned values[16], sum = 0;
  for (unsigned i = 0; i < 16; ++i)
    values[i] = i * i + 5;
#pragma omp target map(tofrom : sum) map(to : values)
  for (int i = 0; i < n; ++i) {
    HUNDRED(0) HUNDRED(100) HUNDRED(200)
  }
  std::printf("%u\n", sum);
}
