// The image that --jit=only has made at the start has the code that a link with --jit makes, although the process that compiles it has
// switches of LLVM on while it compiles variants; its variants have those.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t/linked %t/made && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o linked.exe %omp_link
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit=only %s -o made.exe %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_DUMP_DIR=%t/linked OFFLOOM_JIT_STRICT=1 %run_offload ./linked.exe > out
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_DUMP_DIR=%t/made OFFLOOM_JIT_STRICT=1 %run_offload ./made.exe | cmp - out
// RUN: bash %S/Inputs/outlined-code.sh %llvm_bin linked/*/image.so > linked.code
// RUN: bash %S/Inputs/outlined-code.sh %llvm_bin made/*/image.so > made.code
// RUN: FileCheck --input-file=linked.code %s
// RUN: diff linked.code made.code
#include <cstdio>

// CHECK: omp_outlined
// CHECK: addsd
int main() {
  static double values[64 * 64];
  double sums[64];
  for (int i = 0; i < 64 * 64; ++i)
    values[i] = 1.0 / (i + 1);
#pragma omp target teams distribute parallel for map(to : values) map(from : sums)
  for (int i = 0; i < 64; ++i) {
    double sum = 0;
    for (int j = 0; j < 64; ++j)
      sum += values[i * 64 + j] * values[j];
    sums[i] = sum;
  }
  double total = 0;
  for (double sum : sums)
    total += sum;
  std::printf("%a\n", total);
}
