// A program with an unwinder of its own: nothing can tell it of variants, so what handles exceptions stays ahead of time.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile -static-libgcc -static-libstdc++ %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: FileCheck %s --input-file=stock.out
// CHECK: 165834 499500

// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -static-libgcc -static-libstdc++ -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit > jit.out 2> log
// RUN: cmp stock.out jit.out
// RUN: FileCheck --check-prefix=OWN --implicit-check-not=throws --input-file=log %s
// OWN: attached 1 kernel,
// OWN: adds{{.*}}: compiled in

// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -static-libgcc -static-libstdc++ -Xoffload-linker --jit=only %s -o only %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./only > only.out 2> log
// RUN: cmp stock.out only.out
// RUN: FileCheck --check-prefix=OWN --implicit-check-not=throws --input-file=log %s

// With the shared one both are specialised.
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o shared %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./shared > shared.out 2> log
// RUN: cmp stock.out shared.out
// RUN: FileCheck --check-prefix=SHARED --input-file=log %s
// SHARED: throws{{.*}}: compiled in
#include <cstdio>

#pragma omp declare target
__attribute__((noinline)) void fail(int x) {
  if (x % 3 == 0)
    throw x;
}
#pragma omp end declare target

static long throws(int count) {
  long sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(count)
  for (int i = 0; i < count; ++i)
    try {
      fail(i);
      sum += i % count;
    } catch (int thrown) {
      sum -= thrown;
    }
  return sum;
}

static long adds(int count) {
  long sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(count)
  for (int i = 0; i < count; ++i)
    sum += i % count;
  return sum;
}

int main() {
  const long thrown = throws(1000), added = adds(1000);
  std::printf("%ld %ld\n", thrown, added);
}
