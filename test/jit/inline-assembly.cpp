// Inline assembly that calls functions by name: they stay, and kernels that come to it have no variants.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: FileCheck %s --input-file=stock.out
// CHECK: 145 415 45

// A library that has one of these names is not what is called.
// RUN: %clangxx -O2 -shared -fPIC -DLIBRARY %s -o library.so
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto %s -o lto %omp_link
// RUN: env LD_PRELOAD=%t/library.so %run_offload ./lto > lto.out
// RUN: cmp stock.out lto.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env LD_PRELOAD=%t/library.so OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit > jit.out 2> log
// RUN: cmp stock.out jit.out
// RUN: FileCheck --check-prefix=LOG --implicit-check-not=calls_ --input-file=log %s
// LOG: plain{{.*}}: compiled in
#include <cstdio>
#ifdef LIBRARY
extern "C" int device_only(int) { return -1000000; }
#else

#pragma omp declare target
extern "C" {
__attribute__((used, noinline)) static int device_only(int x) { return x * 3 + 1; }
__attribute__((used, noinline)) int device_global(int x) { return x * 9 + 1; }
}
#define CALL(NAME)                                                                                                     \
  int result;                                                                                                          \
  asm volatile("call " NAME                                                                                            \
               : "=a"(result), "+D"(x)                                                                                 \
               :                                                                                                       \
               : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");                                       \
  return result;
__attribute__((noinline)) static int call_static(int x) { CALL("device_only") }
__attribute__((noinline)) static int call_global(int x) { CALL("device_global@PLT") }
#pragma omp end declare target

static int calls_static(int count) {
  int sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(count)
  for (int i = 0; i < count; ++i)
    sum += call_static(i);
  return sum;
}

static int calls_global(int count) {
  int sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(count)
  for (int i = 0; i < count; ++i)
    sum += call_global(i);
  return sum;
}

static int plain(int count) {
  int sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(count)
  for (int i = 0; i < count; ++i)
    sum += i % count;
  return sum;
}

int main() { std::printf("%d %d %d\n", calls_static(10), calls_global(10), plain(10)); }
#endif
