// Results of code with fast-math flags depend on how it is compiled, so such kernels are left as they were linked: the link says so, no
// variant is asked for, no launch is a failure, and `offloom explain` has them apart. OFFLOOM_JIT_FP=source specialises them too.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit -Wl,--wrapper-verbose %s -o jit %omp_link 2>&1 | FileCheck --check-prefix=LINK %s
// RUN: env OFFLOOM_JIT_STATS=match.stats OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit > match.out 2> match.log
// RUN: cmp stock.out match.out
// RUN: count 0 < match.log
// RUN: %dist/bin/offloom explain match.stats | FileCheck --check-prefix=MATCH %s
// RUN: %dist/bin/offloom report match.stats -o match.html && FileCheck --check-prefix=REPORT --input-file=match.html %s
// RUN: env OFFLOOM_JIT_FP=source OFFLOOM_JIT_STATS=source.stats OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit | FileCheck --check-prefix=OUTPUT %s
// RUN: %dist/bin/offloom explain source.stats | FileCheck --check-prefix=SOURCE %s
// LINK-DAG: remark: __omp_offloading_{{.*}}fused{{.*}}: the JIT may specialise it, but only with OFFLOOM_JIT_FP=source, since it was compiled with fast-math flags
// LINK-DAG: remark: __omp_offloading_{{.*}}exact{{.*}}: the JIT may specialise it{{$}}
// LINK-DAG: wrapgen: warning: 1 of 2 kernels was compiled with fast-math flags, {{.*}} OFFLOOM_JIT_FP=source
// OUTPUT: 120 120
// MATCH: exact
// MATCH-NEXT: 4 launches: 0 ahead of time, 4 of variants
// MATCH: Left as they were linked, since they were compiled with fast-math flags
// MATCH-NEXT: fused
// MATCH-NOT: Never launched
// REPORT: Left as they were linked, since they were compiled with fast-math flags
// SOURCE-DAG: exact
// SOURCE-DAG: fused
// SOURCE-NOT: Left as they were linked
#include <cstdio>

void exact(double *sum, int n) {
#pragma omp target map(tofrom : sum[0 : 1])
  for (int i = 0; i < n; ++i)
    *sum += i * 2.0;
}

void fused(double *sum, int n) {
#pragma omp target map(tofrom : sum[0 : 1])
  {
#pragma clang fp contract(fast)
    for (int i = 0; i < n; ++i)
      *sum += i * 2.0;
  }
}

int main() {
  double sums[2] = {0, 0};
  for (int launch = 0; launch < 4; ++launch) {
    exact(&sums[0], 6);
    fused(&sums[1], 6);
  }
  std::printf("%g %g\n", sums[0], sums[1]);
}
