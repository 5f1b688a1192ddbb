// Device code that calls a shared library, which the loader found under a relative path, or in a folder whose name is not UTF-8; and programs whose
// dynamic section is only read, in which the loader leaves offsets for addresses.
// REQUIRES: x86_64-device
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1
// RUN: rm -rf %t && mkdir -p %t/folder && cd %t
// RUN: %clangxx -O2 -DLIBRARY -shared -fPIC %s -o folder/libtripled.so
// RUN: bash -c "mkdir $'\\xff' && cp folder/libtripled.so $'\\xff'"
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -Lfolder -ltripled -o jit %omp_link
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only %s -Lfolder -ltripled -o only %omp_link
// RUN: %{run} LD_LIBRARY_PATH=folder %run_offload ./jit | FileCheck %s
// RUN: %{run} LD_LIBRARY_PATH=folder %run_offload ./only | FileCheck %s
// RUN: bash -c "%{run} LD_LIBRARY_PATH=$'\\xff' %run_offload ./only" | FileCheck %s

// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -Lfolder -ltripled -o jit %omp_link -fuse-ld=lld -Wl,-z,rodynamic
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only %s -Lfolder -ltripled -o only %omp_link -fuse-ld=lld -Wl,-z,rodynamic
// RUN: %{run} LD_LIBRARY_PATH=folder %run_offload ./jit | FileCheck %s
// RUN: %{run} LD_LIBRARY_PATH=folder %run_offload ./only | FileCheck %s
// CHECK: sum 135
#ifdef LIBRARY
extern "C" int tripled(int value) { return 3 * value; }
#else
#include <cstdio>

#pragma omp declare target
extern "C" int tripled(int value);
#pragma omp end declare target

int main() {
  int sum = 0, count = 10;
#pragma omp target map(tofrom : sum) firstprivate(count)
  for (int i = 0; i < count; ++i)
    sum += tripled(i);
  std::printf("sum %d\n", sum);
}
#endif
