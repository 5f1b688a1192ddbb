// One object's device code is no bitcode: the link says so, its kernels run as they were compiled, and the others have variants.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile -DPART -c %s -o part.o
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s part.o -o jit %omp_link 2>&1 | FileCheck --check-prefix=LINK --implicit-check-not=warning %s
// LINK: wrapgen: warning: --jit: the code of 'part.o' for x86_64-pc-linux-gnu is no bitcode: its kernels stay as they are; compile it with -foffload-lto
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_STATS=stats %run_offload ./jit | FileCheck %s
// CHECK: 10 and 30
// RUN: %offloom explain stats | FileCheck --check-prefix=STATS --implicit-check-not=part %s
// STATS: whole{{.*}}
#ifdef PART
int part(int count) {
#else
#include <cstdio>

int part(int count);

static int whole(int count) {
#endif
  int sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(count)
  for (int i = 0; i < count; ++i)
    sum += i;
#ifdef PART
  sum *= 3;
#endif
  return sum;
}

#ifndef PART
int main() { std::printf("%d and %d\n", whole(5), part(5)); }
#endif
