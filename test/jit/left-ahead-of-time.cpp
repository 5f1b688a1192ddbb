// Kernels that cannot have variants are recognised at link time, named with the reason, and run ahead of time beside others
// that have variants.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -Wl,--wrapper-verbose %s -o jit %omp_link 2>&1 | FileCheck %s
// RUN: env OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit > jit.out 2> log
// RUN: cmp stock.out jit.out
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// CHECK-DAG: remark: __omp_offloading_{{.*}}_main_l[[#@LINE+14]]: the JIT may specialise it
// CHECK-DAG: remark: __omp_offloading_{{.*}}_main_l[[#@LINE+15]]: stays ahead of time: `{{.*}}steps{{.*}}` takes the address of a label (computed goto)
// CHECK-DAG: remark: __omp_offloading_{{.*}}_main_l[[#@LINE+16]]: stays ahead of time: it uses the variable `{{.*}}own{{.*}}`, which is in an address space of its own
// LOG: attached 1 kernel,
// LOG: compiled in
// LOG-NOT: compiled in
#include "Inputs/computed_goto.h"
#include <cstdio>

int main() {
  int answers[2] = {1, 2};
  int n = 77;
  for (int round = 0; round < 2; ++round) {
    // The kernels.
#pragma omp target map(tofrom : answers)
    answers[0] *= n;
#pragma omp target map(tofrom : answers)
    answers[1] += steps(n);
#pragma omp target map(tofrom : answers)
    {
      static volatile __attribute__((address_space(3))) int own;
      own = n;
      answers[1] += own;
    }
  }
  std::printf("%d %d\n", answers[0], answers[1]);
}
