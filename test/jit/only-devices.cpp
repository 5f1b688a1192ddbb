// A program with --jit=only and an image for a GPU beside: without the JIT library the image for the GPU is registered nevertheless.
// RUN: rm -rf %t && mkdir -p %t && cd %t && split-file %s sources && cp sources/* .
// RUN: %clang --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O2 -c -x c /dev/null -o gpu.o
// RUN: %wrapgen pack -o packed --image=file=gpu.o,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=openmp
// RUN: %clang -c -x c /dev/null -Xclang -fembed-offload-object=packed -o with-gpu.o
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only main.cpp with-gpu.o -o program %omp_link
// RUN: %clang -shared -fPIC count.c -o libcount.so
// RUN: env LD_PRELOAD=%t/libcount.so OMP_TARGET_OFFLOAD=disabled ./program 2>&1 | FileCheck --check-prefix=WITH %s
// WITH:      registered 2
// WITH-NEXT: 7
// WITH-NEXT: unregistered 2
// RUN: env LD_PRELOAD=%t/libcount.so OMP_TARGET_OFFLOAD=disabled OFFLOOM_JIT_LIBRARY=%t/absent.so ./program 2>&1 | FileCheck --check-prefix=WITHOUT %s
// WITHOUT:      holds device code that is of no use without liboffloom_jit.so
// WITHOUT-NEXT: registered 1
// WITHOUT-NEXT: 7
// WITHOUT-NEXT: unregistered 1, the same

//--- main.cpp
#include <cstdio>
int main() {
  int x = 0;
#pragma omp target map(tofrom : x)
  x += 7;
  std::printf("%d\n", x);
  std::fflush(stdout);
}

//--- count.c
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

struct Descriptor { int count; void *images; };
static void *images;

static void call(const char *name, struct Descriptor *descriptor) {
  ((void (*)(struct Descriptor *))dlsym(RTLD_NEXT, name))(descriptor);
}

void __tgt_register_lib(struct Descriptor *descriptor) {
  images = descriptor->images;
  fprintf(stderr, "registered %d\n", descriptor->count);
  call("__tgt_register_lib", descriptor);
}

void __tgt_unregister_lib(struct Descriptor *descriptor) {
  fprintf(stderr, "unregistered %d%s\n", descriptor->count, descriptor->images == images ? ", the same" : "");
  call("__tgt_unregister_lib", descriptor);
}
