// Linked with --jit=only, a program holds bitcode and no image. The JIT library makes the image before anything uses a device, once:
// later starts take it from the cache. From there on all is as with --jit.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only %s -o only %omp_link
// RUN: %wrapgen inspect only | FileCheck --check-prefix=HELD %s
// What the link does not keep, it says.
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only -mllvm -inline-threshold=200 %s -o other %omp_link 2> kept
// RUN: FileCheck --check-prefix=KEPT --input-file=kept %s
// KEPT: warning: --jit=only keeps no options for LLVM, such as '-inline-threshold=200'
// HELD: bitcode
// HELD-NOT: object

// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./only 2> log | cmp - stock.out
// RUN: FileCheck --check-prefixes=COLD,RAN --input-file=log %s
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./only 2> log | cmp - stock.out
// RUN: FileCheck --check-prefixes=WARM,RAN --input-file=log %s
// COLD: offloom-jit: the image of this program was compiled in
// WARM: offloom-jit: the image of this program is in the cache
// RAN: offloom-jit: attached 4 kernels
// RAN-DAG: image copy 0: {{[0-9]+}} launch{{(es)?}} ran a variant
// RAN-DAG: image copy 3: {{[0-9]+}} launch{{(es)?}} ran a variant

// The kernels as they were compiled at the start, and every setting that concerns how code is made.
// RUN: env OFFLOOM_JIT=off OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 %run_offload ./only 2>&1 | cmp - stock.out
// RUN: env OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 %run_offload ./only 2>&1 | cmp - stock.out
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_WORKER=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 %run_offload ./only 2>&1 | cmp - stock.out
// RUN: env OMP_TARGET_OFFLOAD=disabled ./only > /dev/null
// A program that ignores how its children end, which exec keeps.
// RUN: env OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 sh -c 'trap "" CHLD; exec "$@"' sh %run_offload ./only 2>&1 | cmp - stock.out

// Without the library there is no image: one line says so, and OMP_TARGET_OFFLOAD decides what happens.
// RUN: env OFFLOOM_JIT_LIBRARY=%t/absent.so OMP_TARGET_OFFLOAD=default ./only host 2>&1 | FileCheck --check-prefix=ABSENT --implicit-check-not='{{.}}' %s
// ABSENT-DAG: offloom-jit: only was linked with --jit=only and holds device code that is of no use without liboffloom_jit.so ({{.*}}absent.so{{.*}}
// ABSENT-DAG: on the host
// RUN: not --crash env OFFLOOM_JIT_LIBRARY=%t/absent.so %run_offload ./only host 2>&1 | FileCheck --check-prefix=MANDATORY %s
// MANDATORY: offloom-jit: only was linked with --jit=only
// MANDATORY: omptarget error: No images found compatible

// An installation whose linker somebody ends: no image this time, and nothing that later starts would remember.
// RUN: mkdir -p lib libexec/offloom && cp %dist/lib/liboffloom_jit.so lib && cp %dist/libexec/offloom/* libexec/offloom
// RUN: printf '#!/bin/sh\nkill -KILL $$\n' > libexec/offloom/wrapgen-lld
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/killed OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so OMP_TARGET_OFFLOAD=default ./only host 2>&1 | FileCheck --check-prefix=KILLED %s
// KILLED-DAG: wrapgen-lld was ended by signal 9
// KILLED-DAG: on the host
// RUN: cp %dist/libexec/offloom/wrapgen-lld libexec/offloom
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/killed OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so %run_offload ./only host | FileCheck --check-prefix=MADE %s
// MADE: on a device

// Native device code has no place in such a program.
// RUN: %clangxx -O2 %omp_compile -c %s -o native.o
// RUN: not %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only native.o -o refused %omp_link 2>&1 | FileCheck --check-prefix=NATIVE %s
// NATIVE: 'native.o' cannot be used: its code for x86_64-pc-linux-gnu is no bitcode, which --jit=only needs: compile it with -foffload-lto
#include "Inputs/virtual_calls.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <omp.h>
#pragma omp declare target
int counter = 5;
static long hidden_sum = 100;
struct Shape { virtual double area(double x) const { return x; } virtual ~Shape() {} };
struct Cube : Shape { double area(double x) const override { return std::cbrt(x * x * x) + x; } };
struct Traced { int steps = 0; ~Traced() { std::printf("traced %d steps\n", steps); std::fflush(stdout); } };
int next() { static Traced traced; return ++traced.steps; }
Shape *kept = nullptr;
#pragma omp end declare target

int main(int count, char **arguments) {
  if (count > 1) {
    int host = 0;
#pragma omp target map(from : host)
    host = omp_is_initial_device();
    std::puts(host ? "on the host" : "on a device");
    return 0;
  }
  for (int device = 0; device < 4; ++device) {
    // The first use of the device is a data region.
    double values[64];
    for (int i = 0; i < 64; ++i)
      values[i] = i;
#pragma omp target data map(tofrom : values) device(device)
    for (int round = 0; round < 3; ++round) {
#pragma omp target teams distribute parallel for device(device)
      for (int i = 0; i < 64; ++i)
        values[i] = std::sin(values[i]) + round;
#pragma omp target device(device)
      {
        counter += round;
        hidden_sum += counter;
        delete kept;
        kept = new Cube;
      }
    }
    double area = 0;
    int steps = 0;
    long sum = 0;
    // A function-local object is destroyed when the image is unloaded.
#pragma omp target map(from : area, steps, sum) device(device)
    {
      area = kept->area(3);
      next();
      steps = next();
      sum = hidden_sum;
    }
#pragma omp target update from(counter) device(device)
    double total = 0;
    for (double value : values)
      total += value;
    std::printf("device %d: %.17g %.17g %d %ld %d\n", device, total, area, steps, sum, counter);
  }
  std::fflush(stdout);
}
