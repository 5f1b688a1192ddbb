// The variants that a run asked for are compiled for other x86_64 processors, also ones that this machine has not, and a later run finds them.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t/tmp && cd %t
// RUN: %clangxx -O2 %omp_compile -foffload-lto -B %dropin -Xoffload-linker --jit %s -o program %omp_link
// DEFINE: %{environment} = env OFFLOOM_JIT_CACHE_MODE=rw TMPDIR=%t/tmp
// DEFINE: %{precompile} = %{environment} OFFLOOM_JIT_CACHE_DIR=%t/other %offloom precompile
// RUN: %{environment} OFFLOOM_JIT_CACHE_DIR=%t/first OFFLOOM_JIT=sync OFFLOOM_JIT_STATS=statistics.json %run_offload ./program > expected
// RUN: %{precompile} --target x86-64-v2,znver4,x86-64-v2 statistics.json ./program | FileCheck --check-prefix=MADE %s
// MADE: x86-64-v2 add{{.*}} precompile.cpp:[[#]] any launch compiled
// MADE-NEXT: znver4 add{{.*}} precompile.cpp:[[#]] any launch compiled
// MADE: 2 variants are in the cache, 2 compiled now
// RUN: %{environment} OFFLOOM_JIT_CACHE_DIR=%t/other OFFLOOM_JIT_TARGET=x86-64-v2 OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 %run_offload ./program 2> log | diff expected -
// RUN: FileCheck --check-prefix=FOUND --implicit-check-not=compiled --input-file=log %s
// FOUND: found in the cache
// FOUND: {{launch|launches}} ran a variant

// What another machine's cache gets is packed as any cache is.
// RUN: %{environment} OFFLOOM_JIT_CACHE_DIR=%t/other %offloom cache pack packed.tar.gz
// RUN: test -s packed.tar.gz

// RUN: not %{precompile} --target pentium2 statistics.json ./program 2>&1 | FileCheck --check-prefix=OLD %s
// OLD: offloom: cannot precompile for `pentium2`: {{.}}
// RUN: not %{precompile} --target nothing statistics.json ./program 2>&1 | FileCheck --check-prefix=NOTHING %s
// NOTHING: offloom: cannot precompile for `nothing`: LLVM knows no processor of that name
// RUN: not %{precompile} --target sm_90 statistics.json ./program 2>&1 | FileCheck --check-prefix=GPU %s
// GPU: offloom: cannot precompile `{{.*}}program`: it has no device code for NVIDIA GPUs that can be used
// RUN: not %{precompile} --target native missing.json ./program 2>&1 | FileCheck --check-prefix=MISSING %s
// MISSING: offloom: {{.*}}missing.json
// RUN: not %{precompile} --target native statistics.json %s 2>&1 | FileCheck --check-prefix=TEXT %s
// TEXT: offloom: cannot precompile `{{.*}}precompile.cpp`: {{.}}
// RUN: not %{precompile} --target native statistics.json ./missing 2>&1 | FileCheck --check-prefix=PROGRAM %s
// PROGRAM: offloom: cannot precompile `./missing`: No such file
// RUN: not env OFFLOOM_JIT_CACHE_MODE=ro %offloom precompile --target native statistics.json ./program 2>&1 | FileCheck --check-prefix=MODE %s
// MODE: offloom: cannot precompile `./program`: OFFLOOM_JIT_CACHE_MODE is not `rw`

// A cache that cannot be written keeps nothing, so nothing is compiled.
// RUN: not env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/expected %offloom precompile --target native statistics.json ./program 2>&1 | FileCheck --check-prefix=CACHE --implicit-check-not=compiled %s
// CACHE: offloom: the cache `{{.*}}expected` is not a directory

// Damaged programs are refused, and nothing is left anywhere.
// RUN: python3 %S/Inputs/damage-bundle.py program damaged
// RUN: not %{precompile} --target native statistics.json ./damaged 2>&1 | FileCheck --check-prefix=DAMAGED %s
// DAMAGED: offloom: cannot precompile `{{.*}}damaged`: {{.*}}bundle
// RUN: find tmp -mindepth 1 -not -name "tmpfile-*.tmp" | count 0
#include <cstdio>

static void add(int *values, int count, int step) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    values[i] += step * count;
}

int main() {
  int values[200] = {};
  volatile int count = 200;
  for (int i = 0; i < 3; ++i)
    add(values, count, 2);
  std::printf("%d %d\n", values[0], values[199]);
}
