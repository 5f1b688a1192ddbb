// Kernels that read of an object what begins behind its start, with nothing before it in memory: as does an array that counts from 1.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> log | FileCheck %s
// RUN: env OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 %run_offload ./jit | FileCheck %s
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// CHECK: 380 and 380
// LOG: compiled in {{.*}}contents:
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

// The element at 1 is the first of its page, or, at the end, the last.
static double sum_of(int *from_one) {
  double values[64], sum = 0;
#pragma omp target is_device_ptr(from_one) map(from : values)
  {
    const int count = from_one[1];
    for (int i = 0; i < count; ++i)
      values[i] = i * 2.0;
  }
  for (int i = 0; i < 20; ++i)
    sum += values[i];
  return sum;
}

int main() {
  const long page = sysconf(_SC_PAGESIZE);
  char *memory = static_cast<char *>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(memory, page, PROT_NONE);
  mprotect(memory + 2 * page, page, PROT_NONE);
  int *first = reinterpret_cast<int *>(memory + page), *last = reinterpret_cast<int *>(memory + 2 * page) - 1;
  *first = *last = 20;
  double sums[2];
  for (int launch = 0; launch < 20; ++launch) {
    sums[0] = sum_of(first - 1);
    sums[1] = sum_of(last - 1);
    usleep(launch < 3 ? 50000 : 0);
  }
  std::printf("%g and %g\n", sums[0], sums[1]);
}
