// Kernels launched before main and after it, from constructors, destructors and exit handlers, where thread-local state of the
// launching thread may be gone.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit 2> log | FileCheck %s
// RUN: grep -c ': compiled in' log | FileCheck --check-prefix=COMPILED %s
// CHECK: constructed 12
// CHECK: main 5
// CHECK: handler 30
// CHECK: destroyed 25
// COMPILED: {{^4$}}
#include <cstdio>
#include <cstdlib>

static int plain(int x) {
  int y = 0;
#pragma omp target map(from : y)
  y = x * 2 - 1;
  return y;
}

struct Object {
  int value;
  Object() {
    int y = 0;
#pragma omp target map(from : y)
    y = 12;
    value = y;
    std::printf("constructed %d\n", value);
  }
  ~Object() {
    int y = value;
#pragma omp target map(tofrom : y)
    y += 13;
    std::printf("destroyed %d\n", y);
  }
};
static Object object;

static void handler() {
  int y = 0;
#pragma omp target map(from : y)
  y = 30;
  std::printf("handler %d\n", y);
}

int main() {
  std::atexit(handler);
  std::printf("main %d\n", plain(3));
}
