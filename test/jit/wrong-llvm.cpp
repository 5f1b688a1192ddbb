// A JIT library of another LLVM refuses the program's bundle in one line and stays out of the way.
// REQUIRES: x86_64-device, both-builds
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_LIBRARY=%dist/lib/liboffloom_jit.so %run_offload ./jit > own.out 2>&1
// RUN: env OFFLOOM_JIT_LIBRARY=%other_dist/lib/liboffloom_jit.so %run_offload ./jit > other.out 2>&1
// RUN: cat own.out other.out | FileCheck --implicit-check-not='{{.}}' %s
// CHECK-DAG: offloom-jit: this library is for LLVM [[THEIRS:19|22]], the program was linked with --jit for LLVM [[OURS:19|22]]: kernels stay ahead of time
// CHECK-DAG: answer 42
// CHECK-DAG: answer 42

// So it does with a program that holds bitcode alone, whose kernels run on the host then.
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only %s -o only %omp_link
// RUN: env OFFLOOM_JIT_LIBRARY=%dist/lib/liboffloom_jit.so ./only > own.out 2>&1
// RUN: env OFFLOOM_JIT_LIBRARY=%other_dist/lib/liboffloom_jit.so ./only > other.out 2>&1
// RUN: cat own.out other.out | FileCheck --check-prefix=ONLY --implicit-check-not='{{.}}' %s
// ONLY-DAG: offloom-jit: this library is for LLVM {{19|21|22|23}}, the device code of this program is bitcode of LLVM{{19|21|22|23}}.{{[0-9.]+}}: it cannot be used
// ONLY-DAG: answer 42
// ONLY-DAG: answer 42

// One that cannot be loaded is said too, since it was asked for; a program of more rights than its user's would not look at it.
// RUN: env OFFLOOM_JIT_LIBRARY=%t/absent.so %run_offload ./jit 2>&1 | FileCheck --check-prefix=ABSENT --implicit-check-not='{{.}}' %s
// ABSENT-DAG: offloom-jit: OFFLOOM_JIT_LIBRARY cannot be loaded: {{.*}}absent.so{{.*}}: kernels stay ahead of time
// ABSENT-DAG: answer 42
// RUN: env OFFLOOM_JIT=off OFFLOOM_JIT_LIBRARY=%t/absent.so %run_offload ./jit 2>&1 | FileCheck --check-prefix=STOCK --implicit-check-not='{{.}}' %s

// Loaded before a program of another LLVM without bitcode, it changes nothing.
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: env LD_PRELOAD=%other_dist/lib/liboffloom_jit.so %run_offload ./stock 2>&1 | FileCheck --check-prefix=STOCK --implicit-check-not='{{.}}' %s
// STOCK: answer 42
#include <cstdio>
int main() {
  int answer = 0;
#pragma omp target map(from : answer)
  answer = 42;
  std::printf("answer %d\n", answer);
}
