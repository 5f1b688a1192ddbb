// LLVM 23's kernels for processors have their arguments in a list, which a link with `--jit` takes apart. One that stays ahead of time has
// its own code again, at its lines.
// REQUIRES: x86_64-device, llvm-23
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -g -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -Wl,--wrapper-verbose %s -o jit %omp_link 2> link.log
// RUN: FileCheck %s --check-prefix=LINK --input-file=link.log
// LINK: remark: [[LEFT:__omp_offloading_.*left.*_l[0-9]+]]: stays ahead of time: {{.*}}in an address space of its own
// RUN: %dropin/clang-offload-packager jit --image=file=image,kind=openmp
// RUN: %llvm_bin/llvm-nm image | grep -c '\.words$' | FileCheck %s --check-prefix=WORDS
// WORDS: {{^1$}}
// RUN: %llvm_bin/llvm-nm image | grep -o '__omp_offloading_[^.]*left[^.]*$' | %llvm_bin/llvm-symbolizer -e image --output-style=GNU | FileCheck %s --check-prefix=LINE
// LINE: argument-lists.cpp:[[#@LINE + 6]]
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit | FileCheck %s
// CHECK: 3 12
#include <cstdio>

static void left(int *x) {
#pragma omp target map(tofrom : x[0 : 1])
  {
    static volatile __attribute__((address_space(3))) int own;
    own = *x;
    *x = own - 4;
  }
}

static void scale(int *x, int by) {
#pragma omp target map(tofrom : x[0 : 1])
  *x *= by;
}

int main() {
  int x = 7;
  left(&x);
  std::printf("%d ", x);
  scale(&x, 4);
  std::printf("%d\n", x);
}
