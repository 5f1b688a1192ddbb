// Kernels that write exported, file-local and function-local globals, on devices 0 to 3, with the host updating and reading
// the globals between launches, and with function pointers and virtual calls that ahead-of-time code shares: variants
// compiled at run time print what the stock program prints, and each of them really ran, on every device.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_SPECIALIZE= OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit > jit.out 2> log
// RUN: cmp stock.out jit.out
// RUN: FileCheck --input-file=log %s
// RUN: grep -c ': compiled in' log | FileCheck --check-prefix=COMPILED %s
// RUN: grep -c 'image copy [0-3]: 3 launches ran a variant' log | FileCheck --check-prefix=RAN %s

// One compile for all devices, a link for each.
// CHECK: offloom-jit: attached 3 kernels
// CHECK: {{_main_l[0-9]+}}: compiled in {{[0-9.]+}} ms (parse {{.*}}, optimise {{.*}}, generate {{.*}}), {{[0-9]+}} bytes
// CHECK: {{_main_l[0-9]+}}: linked into image copy 0 in {{[0-9.]+}} ms
// CHECK: linked into image copy 3 in
// COMPILED: {{^3$}}
// RAN: {{^12$}}

// The same program without the variants: switched off, without the library, and with a file that is no library.
// RUN: env OFFLOOM_JIT=off OFFLOOM_JIT_LOG=1 %run_offload ./jit 2>&1 | cmp - stock.out
// RUN: env OFFLOOM_JIT_LIBRARY=%t/absent.so OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> log | cmp - stock.out
// RUN: env OFFLOOM_JIT_LIBRARY=%s OFFLOOM_JIT_LOG=1 %run_offload ./jit 2>> log | cmp - stock.out
// RUN: env OFFLOOM_JIT_LIBRARY=libm.so.6 OFFLOOM_JIT_LOG=1 %run_offload ./jit 2>> log | cmp - stock.out
// RUN: FileCheck --check-prefix=ABSENT --implicit-check-not='{{.}}' --input-file=log %s
// ABSENT: offloom-jit: OFFLOOM_JIT_LIBRARY cannot be loaded: {{.*}}absent.so{{.*}}: kernels stay ahead of time
// ABSENT: offloom-jit: OFFLOOM_JIT_LIBRARY cannot be loaded: {{.*}}globals.cpp{{.*}}: kernels stay ahead of time
// ABSENT: offloom-jit: OFFLOOM_JIT_LIBRARY names a file that is no liboffloom_jit.so: kernels stay ahead of time
// RUN: env OMP_TARGET_OFFLOAD=disabled ./jit > /dev/null
// Specialised to what the launches have: at once, in the background, and with variants retired.
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
// RUN: env OFFLOOM_JIT=async OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_WORKER=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
#include "Inputs/virtual_calls.h"
#include <cstdio>
#include <omp.h>
#pragma omp declare target
int counter = 5;
double scale[3] = {1.0, 2.0, 3.0};
static long hidden_sum = 100;
namespace { unsigned mixed = 7; }
struct Shape { virtual double area(double x) const { return x; } virtual ~Shape() {} };
struct Square : Shape { double area(double x) const override { return x * x; } };
struct Cube : Shape { double area(double x) const override { return x * x * x; } };
int twice(int x) { return 2 * x; }
int thrice(int x) { return 3 * x; }
int (*chosen)(int) = twice;
Shape *kept = nullptr;
int next() { static int calls = 1000; return calls++; }
#pragma omp end declare target

int main() {
  for (int device = 0; device < 4; ++device) {
    for (int round = 0; round < 3; ++round) {
      int out[4] = {0, 0, 0, 0};
      counter = 10 * device + round;
      #pragma omp target update to(counter) device(device)
      #pragma omp target map(tofrom : out) device(device)
      {
        counter += 1;
        hidden_sum += counter;
        mixed ^= (unsigned)hidden_sum;
        out[0] = counter; out[1] = (int)hidden_sum; out[2] = next(); out[3] = (int)mixed;
        scale[round] *= 1.5;
      }
      #pragma omp target update from(counter, scale) device(device)
      printf("device %d round %d: %d %d %d %d host %d %g %g %g\n", device, round, out[0], out[1], out[2], out[3], counter, scale[0], scale[1], scale[2]);
      int which = round;
      int ptrs[3];
      double areas = 0;
      #pragma omp target map(from : ptrs, areas) device(device)
      {
        ptrs[0] = chosen == twice; ptrs[1] = chosen(21);
        chosen = which & 1 ? twice : thrice;
        ptrs[2] = chosen == thrice;
        if (!kept) kept = new Cube;
        areas = kept->area(3.0);
        Square local; Shape *s = &local;
        if (which == 2) s = kept;
        areas += s->area(0.5);
      }
      printf("  function pointers %d %d %d, virtual %g\n", ptrs[0], ptrs[1], ptrs[2], areas);
      double a[256], sum = 0; for (int i = 0; i < 256; ++i) a[i] = i;
      #pragma omp target teams distribute parallel for map(tofrom : a) device(device)
      for (int i = 0; i < 256; ++i) a[i] = a[i] * scale[which] + counter;
      for (double v : a) sum += v;
      printf("  sum %g\n", sum);
    }
  }
}
