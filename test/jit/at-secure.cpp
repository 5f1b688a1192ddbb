// A program with more rights than its user: its kernel is specialised, and nothing that the user's environment names is read,
// written or made.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/warm OFFLOOM_JIT=sync %run_offload ./jit
// RUN: %clang -shared -fPIC -x c %S/Inputs/trace-load.c -o trace-load.so
// RUN: env OMP_TARGET_OFFLOAD=mandatory python3 %S/Inputs/at_secure.py %t/user %t/warm %t/trace-load.so ./jit | FileCheck %s
// CHECK: user's own: a variant ran; touched: cache config dumps perf-map shared stats
// CHECK-NEXT: user's library: launched; touched: library
// CHECK-NEXT: more rights: a variant ran; touched: nothing
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

static int launch(int *values, int by) {
  int sum = 0;
#pragma omp target map(tofrom : sum) map(to : values[0 : 64])
  for (int i = 0; i < 64; ++i)
    sum += values[i] % by;
  return sum;
}

// Code of variants is in memory that belongs to no file.
static int executable_mappings_without_file() {
  char line[4096];
  int count = 0;
  FILE *maps = std::fopen("/proc/self/maps", "r");
  while (maps && std::fgets(line, sizeof line, maps)) {
    char permissions[5] = "";
    int name = 0;
    if (std::sscanf(line, "%*s %4s %*s %*s %*s %n", permissions, &name) == 1 && permissions[2] == 'x')
      count += line[name] == '\0' || line[name] == '\n';
  }
  if (maps)
    std::fclose(maps);
  return count;
}

int main(int count, char **) {
  int values[64];
  for (int i = 0; i < 64; ++i)
    values[i] = i * i;
  int expected = 0;
  for (int value : values)
    expected += value % 7;
  const int before = executable_mappings_without_file();
  for (int round = 0; round < 6000; ++round) {
    if (launch(values, 7) != expected)
      return 1;
    if (count > 1) {
      std::puts("launched");
      return 0;
    }
    if (executable_mappings_without_file() > before) {
      std::puts("a variant ran");
      return 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::puts("no variant was made");
}
