// What a loop reads and then overwrites, with fewer iterations than fit vectors: variants know how many, and load by a mask. LLVM 22's InstCombine loads
// behind the store then, where processors have such loads.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clang -O3 -foffload-lto -B %dropin -Xoffload-linker --jit %omp_compile %s -o program %omp_link
// DEFINE: %{run} = env OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload ./program
// RUN: env OFFLOOM_JIT=off %{run} 2>&1 | FileCheck %s
// RUN: env OFFLOOM_JIT=sync %{run} 2>&1 | FileCheck --check-prefixes=CHECK,RAN %s
// CHECK-DAG: sum 91, left 0
// RAN-DAG: main{{.*}} 1 launch ran a variant
#include <stdio.h>

int main(int count, char **arguments) {
  double values[64], sum = 0, left = 0;
  for (int i = 0; i < 64; i++)
    values[i] = i + 1;
  int taken = 13 * count;
#pragma omp target map(values, sum)
  {
    double so_far = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < taken; i++) {
      so_far += values[i];
      values[i] = 0;
    }
    sum = so_far;
  }
  for (int i = 0; i < taken; i++)
    left += values[i];
  printf("sum %g, left %g\n", sum, left);
}
