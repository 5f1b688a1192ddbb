// Shared libraries that each have a kernel, and a variable that is reached through a pointer, of the same names: where they are hidden, each library
// has its own, however the libraries are loaded.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{library} = env CLANG='%clang' OPT='%opt' WRAPGEN='%wrapgen' PASSES=%passes INCLUDE=%dist/include DROPIN=%dropin sh %S/Inputs/shared-library.sh %s
// RUN: %{library} 1 lib1.so %omp_link
// RUN: %{library} 2 lib2.so %omp_link
// RUN: %clang -O2 -DNUMBER=0 %s -o program
// RUN: %run_offload ./program ./lib1.so ./lib2.so | FileCheck %s

// DEFINE: %{jit} = %clang -O2 -fPIC -shared -I%dist/include -fpass-plugin=%passes -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -DONE_COMMAND
// RUN: %{jit} -DNUMBER=1 %s -o jit1.so %omp_link -lomptarget
// RUN: %{jit} -DNUMBER=2 %s -o jit2.so %omp_link -lomptarget
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 %run_offload ./program ./jit1.so ./jit2.so | FileCheck %s
// CHECK: 1: region 1, variable 10
// CHECK-NEXT: 2: region 2, variable 20
#if NUMBER == 0
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **libraries) {
  for (int library = 1; library < count; ++library) {
    // The second one could take the first one's symbols for its own.
    void *handle = dlopen(libraries[library], RTLD_NOW | RTLD_GLOBAL);
    void (*run)(void) = handle ? (void (*)(void))dlsym(handle, library == 1 ? "run1" : "run2") : 0;
    if (!run) {
      puts(dlerror());
      return 1;
    }
    run();
  }
}
#else
#include <offloom/launch.h>
#include <stdio.h>

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)

#ifdef ONE_COMMAND
// Clang's own directive makes the variable one of all libraries, so it is a constant here.
#pragma omp begin declare target
enum { table = 10 * NUMBER };
#else
__attribute__((annotate("offload:link"), visibility("hidden"))) int table = 10 * NUMBER;
OFFLOOM_LINK(table);
#endif
__attribute__((annotate("offload:kernel"), visibility("hidden"))) void read_both(int *out) {
  out[0] = NUMBER;
  out[1] = table;
}
#ifdef ONE_COMMAND
#pragma omp end declare target
#endif
OFFLOOM_REGION(read_both);

void JOINED(run, NUMBER)(void) {
  int out[2] = {0, 0};
#ifndef ONE_COMMAND
  offloom_link_begin(OFFLOOM_DEFAULT_DEVICE, OFFLOOM_LINK_OF(table), sizeof table, OFFLOOM_TO);
#endif
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(read_both));
  offloom_map_from(&launch, out, sizeof out);
  if (offloom_launch_run(&launch) != 0)
    puts("not launched");
  printf("%d: region %d, variable %d\n", NUMBER, out[0], out[1]);
  fflush(stdout);
}
#endif
