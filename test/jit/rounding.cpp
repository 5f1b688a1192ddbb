// A thread that rounds otherwise, or takes subnormal numbers for zeros, as a link with -ffast-math has the whole program do: variants hold
// as constants what ahead-of-time code computes at each launch.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: FileCheck %s --input-file=stock.out
// CHECK: usual [[USUAL:.*]]
// CHECK-NEXT: usual [[USUAL]]
// CHECK-NOT: downward [[USUAL]]
// CHECK: without subnormals {{.*}} 0x0p+0
// CHECK-NOT: without subnormals [[USUAL]]
// CHECK: long double [[LONG:.*]]
// CHECK-NEXT: long double [[LONG]]
// CHECK-NOT: short long double [[LONG]]
// CHECK: {{^}}usual [[USUAL]]
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit > jit.out 2> log
// RUN: cmp stock.out jit.out
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// Where launches are not counted, stubs know the variants and look at how the thread computes by themselves.
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit > quiet.out
// RUN: cmp stock.out quiet.out
// LOG-COUNT-1: run ahead-of-time code: it rounds otherwise
// LOG-NOT: it rounds otherwise
// LOG-DAG: 4 launches ran a variant
// LOG-DAG: 2 launches ran a variant
#include <cfenv>
#include <cstdio>
#include <fpu_control.h>
#include <xmmintrin.h>

static void run(const char *how, double x, double y, int count) {
  for (int launch = 0; launch < 2; ++launch) {
    double sums[2] = {0, 0};
#pragma omp target map(tofrom : sums) firstprivate(x, y, count)
    for (int i = 0; i < count; ++i) {
      sums[0] += x / y;
      sums[1] += x * x * 1e300;
    }
    std::printf("%s %a %a\n", how, sums[0], sums[1]);
  }
}

// With the digits that the x87 control word asks for.
static void run_long(const char *how, int count) {
  for (int launch = 0; launch < 2; ++launch) {
    unsigned long sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(count)
    for (int i = 0; i < count; ++i)
      sum = sum * 3 + (long)((long double)count / 3 * 0x1p62L);
    std::printf("%s %lx\n", how, sum);
  }
}

int main() {
  run("usual", 1e-155, 3e-155, 1);
  std::fesetround(FE_DOWNWARD);
  run("downward", 1e-155, 3e-155, 1);
  std::fesetround(FE_TONEAREST);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  run("without subnormals", 1e-155, 3e-155, 1);
  _mm_setcsr(before);
  run_long("long double", 1);
  fpu_control_t all_digits, of_double;
  _FPU_GETCW(all_digits);
  of_double = (all_digits & ~_FPU_EXTENDED) | _FPU_DOUBLE;
  _FPU_SETCW(of_double);
  run_long("short long double", 1);
  _FPU_SETCW(all_digits);
  run("usual", 1e-155, 3e-155, 1);
}
