// A library that is closed, and opened again where nothing of it lay before: what is left of it in libomptarget does no harm. LLVM 19's and 21's
// libomptarget reads the images of libraries that are closed. The stock program crashes there, so the result is known otherwise.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -DLIBRARY -fPIC -shared %s -o library.so %omp_link
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o program %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 %run_offload ./program | FileCheck %s
// RUN: env OFFLOOM_JIT=async OFFLOOM_JIT_STRICT=1 %run_offload ./program | FileCheck %s
// Where they lie need not be UTF-8.
// RUN: bash -c "mkdir $'\\xff' && cp program library.so $'\\xff' && cd $'\\xff' && env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 %run_offload ./program" | FileCheck %s
// CHECK-COUNT-3: sum 285, elsewhere
// CHECK-NOT: sum
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#ifdef LIBRARY
extern "C" int sum_of_squares(int count) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < count; ++i)
    sum += i * i;
  return sum;
}
#else
int main() {
  void *before = nullptr;
  for (int round = 0; round < 3; ++round) {
    void *library = dlopen("./library.so", RTLD_NOW | RTLD_LOCAL);
    auto sum_of_squares = library ? (int (*)(int))dlsym(library, "sum_of_squares") : nullptr;
    link_map *map = nullptr;
    if (!sum_of_squares || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
      return 1;
    void *start = (void *)map->l_addr;
    std::printf("sum %d, %s\n", sum_of_squares(10), start == before ? "at the same place" : "elsewhere");
    before = start;
    dlclose(library);
    // The first page is taken, the others are free.
    if (mmap(start, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != start)
      return 2;
  }
}
#endif
