// With --save-temps, files have the same names in each link: what an earlier one left is not taken for this one's.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -Wl,--save-temps %s -o program %omp_link
// RUN: %llvm_bin/llvm-readelf -SW program | grep jit_bundle
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -Wl,--save-temps -DLABELS %s -o program %omp_link
// RUN: %llvm_bin/llvm-readelf -SW program > sections && not grep jit_bundle sections
// RUN: %run_offload ./program | FileCheck %s
// CHECK: 6
#include <cstdio>

int main(int count, char **) {
  int result = 0;
#pragma omp target map(tofrom : result)
  {
#ifdef LABELS
    // No variant can be made of this.
    static void *const labels[] = {&&one, &&two};
    goto *labels[count & 1];
  one:
    result += 1;
  two:
#endif
    result += 5 * count + 1;
  }
  std::printf("%d\n", result);
}
