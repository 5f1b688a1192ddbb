// A fatal error inside LLVM, which ends a process, costs the one variant that brings it about and nothing else: neither the program, nor
// other variants, in the process that compiles or on a thread of the program.
// REQUIRES: x86_64-device
// Clang's own passes would decide that the divisor is no constant.
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -Xclang -disable-llvm-passes %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_WORKER=1 OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> worker | cmp - stock.out
// RUN: FileCheck --input-file=worker %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_WORKER=0 OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> thread | cmp - stock.out
// RUN: FileCheck --input-file=thread %s
// CHECK: compiled in
// CHECK: stays ahead of time for {{.*}}: fatal error in LLVM: Cannot select: intrinsic %llvm.nvvm.read.ptx.sreg.tid.x
// CHECK: compiled in
#include <cstdio>

#pragma omp declare target
// No instruction of x86_64.
int of_another_target() __asm__("llvm.nvvm.read.ptx.sreg.tid.x");
#pragma omp end declare target

static int plain(int divisor) {
  int result = 0;
#pragma omp target map(tofrom : result)
  for (int i = 0; i < 40; ++i)
    result += i / divisor;
  return result;
}

// Only in a variant is the divisor a constant.
static int failing(int divisor) {
  int result = 0;
#pragma omp target map(tofrom : result)
  for (int i = 0; i < 40; ++i)
    result += i / divisor + (__builtin_constant_p(divisor) ? of_another_target() : 1);
  return result;
}

int main(int count, char **) {
  std::printf("%d\n", plain(count + 1));
  std::printf("%d\n", failing(count + 2));
  std::printf("%d\n", plain(count + 3));
}
