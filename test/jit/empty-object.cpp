// Device code that names an object of an empty class which only host code defines: what names it is optimised away where device code is linked as
// bitcode, with the JIT too.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -Wno-unknown-pragmas %s -o host && ./host > host.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> log | cmp - host.out
// RUN: FileCheck --input-file=log %s
// CHECK: image copy 0: 3 launches ran a variant
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit=only %s -o only %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off %run_offload ./only | cmp - host.out
#include <cstdio>
#include <map>

int main() {
  for (int keys = 3; keys < 6; ++keys) {
    int sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(keys)
    {
      // `operator[]` constructs a pair by `std::piecewise_construct`.
      std::map<int, int> found;
      for (int i = 0; i < keys * 5; ++i)
        found[i % keys] += i;
      for (const auto &[key, value] : found)
        sum += key * value;
    }
    std::printf("%d\n", sum);
  }
}
