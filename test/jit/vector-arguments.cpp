// Vectors that cross the border of the device bitcode, to native code or through pointers: a variant passes them as the image does, though the processor that
// is there has wider registers than the image was compiled for.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{processor} = x86-64
// DEFINE: %{build} = %clangxx -O2 -Wno-psabi %omp_compile -Xopenmp-target -march=%{processor}
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off %run_offload
// DEFINE: %{check} = %{build} -DPART -c %s -o part.o && %{build} %s part.o -o stock %omp_link && %run_offload ./stock > stock.out && \
// DEFINE:   %{build} -B %dropin -foffload-lto -Xoffload-linker --jit %s part.o -o jit %omp_link 2> /dev/null && %{run} ./jit | cmp - stock.out
// RUN: %{check} && FileCheck --input-file=stock.out %s
// CHECK: native 95.25 pointers 0 21
// REDEFINE: %{processor} = westmere
// RUN: %{check}
typedef float v8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));

#pragma omp begin declare target
v8 scaled(v8 x, int n);
// Compiled for wider registers, to which the wider vector is no trouble.
__attribute__((target("avx2"))) v16 doubled(v16 x);
#pragma omp end declare target

#ifdef PART
v8 scaled(v8 x, int n) {
  for (int i = 0; i < n; ++i)
    x = x * 1.5f + 1.0f;
  return x;
}
v16 doubled(v16 x) { return x * 2.0f; }
#else
#include <cstdio>

#pragma omp begin declare target
static __attribute__((noinline, target("avx2"))) float last_doubled(float first) {
  v16 x;
  for (int i = 0; i < 16; ++i)
    x[i] = first + i;
  return doubled(x)[15];
}
v8 more(v8 x) { return x + 3.0f; }
v8 most(v8 x) { return x * 3.0f; }
v8 (*volatile steps[])(v8) = {more, most};
#pragma omp end declare target

int main() {
  for (int n = 3; n < 5; ++n) {
    float native[9] = {}, pointers[8] = {};
    int is_wide = 0;
#pragma omp target map(tofrom : native) firstprivate(n, is_wide)
    {
      v8 x = {1, 2, 3, 4, 5, 6, 7, 8};
      x = scaled(x, n);
      for (int i = 0; i < 8; ++i)
        native[i] = x[i] * n;
      if (is_wide)
        native[8] = last_doubled(n);
    }
#pragma omp target map(from : pointers) firstprivate(n)
    {
      v8 x = {1, 2, 3, 4, 5, 6, 7, 8};
      for (int i = 0; i < n; ++i)
        x = steps[i % 2](x) - (float)n;
      for (int i = 0; i < 8; ++i)
        pointers[i] = x[i];
    }
    std::printf("native %g pointers %g %g\n", native[7], pointers[0], pointers[7]);
    for (float each : native)
      std::printf("%g ", each);
    for (float each : pointers)
      std::printf("%g ", each);
  }
}
#endif
