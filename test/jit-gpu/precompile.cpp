// What a run on one GPU asked for is compiled for others without any, and a later run there finds it all in the cache: of a program with an image for each,
// and of one with bitcode, whose image is made too.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{build} = %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64-nvidia-cuda --cuda-path=%cuda -B %dropin %s %gpu_options %omp_link
// RUN: %{build} --offload-arch=sm_80,sm_90 -Xoffload-linker --jit -o images
// RUN: %{build} --offload-arch=sm_80 -Xoffload-linker --jit=only -o bitcode
// DEFINE: %{environment} = OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_CACHE_MODE=rw
// DEFINE: %{run} = env %{environment} LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1
// DEFINE: %{precompile} = env %{environment} OFFLOOM_JIT_CACHE_DIR=%t/other %offloom precompile

// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_80 OFFLOOM_JIT_CACHE_DIR=%t/first OFFLOOM_JIT_STATS=images.json ./images > expected
// RUN: %{precompile} --target sm_80,sm_90 images.json ./images | FileCheck --check-prefix=MADE %s
// MADE: processor kernel specialised to
// MADE-NEXT: sm_80 add{{.*}} precompile.cpp:{{.*}} threads = {{[0-9]+}} compiled
// MADE-NEXT: sm_80 add{{.*}} precompile.cpp:{{.*}} threads = {{[0-9]+}} compiled
// MADE-NEXT: sm_90 add{{.*}} precompile.cpp:{{.*}} threads = {{[0-9]+}} compiled
// MADE-NEXT: sm_90 add{{.*}} precompile.cpp:{{.*}} threads = {{[0-9]+}} compiled
// MADE: 4 variants are in the cache, 4 compiled now
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_90 OFFLOOM_JIT_CACHE_DIR=%t/other ./images 2> images.log | diff expected -
// RUN: FileCheck --check-prefix=FOUND --implicit-check-not=compiled --input-file=images.log %s
// FOUND-DAG: is on device 0, sm_90
// FOUND-DAG: found in the cache, for {{.*}}=i32:0x64
// FOUND-DAG: found in the cache, for {{.*}}=i32:0xc8
// FOUND: 6 launches ran a variant

// A second time nothing is compiled, as JSON says too.
// RUN: %{precompile} --target sm_90 images.json ./images | FileCheck --check-prefix=AGAIN %s
// AGAIN: sm_90 add{{.*}} there already: cache
// AGAIN: 2 variants are in the cache, 0 compiled now
// RUN: %{precompile} --json --target sm_90 images.json ./images | FileCheck --check-prefix=JSON %s
// JSON: "descriptor": "kernel={{.*}}arch=nvptx64{{.*}}"
// JSON: "origin": "cache"
// JSON: "processor": "sm_90"

// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_80 OFFLOOM_JIT_CACHE_DIR=%t/first OFFLOOM_JIT_STATS=bitcode.json ./bitcode | diff expected -
// RUN: %{precompile} --target sm_90 bitcode.json ./bitcode | FileCheck --check-prefix=BITCODE %s
// BITCODE: 2 variants are in the cache, 2 compiled now
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_90 OFFLOOM_JIT_CACHE_DIR=%t/other ./bitcode 2> bitcode.log | diff expected -
// RUN: FileCheck --check-prefix=FOUND --implicit-check-not=compiled --input-file=bitcode.log %s
// RUN: FileCheck --check-prefix=IMAGE --input-file=bitcode.log %s
// IMAGE: the image of this program for sm_90 is in the cache

// Of two codes the image is made of the later one, as at the program's start, and its variants are all.
// RUN: %{build} --offload-arch=sm_80,sm_90 -Xoffload-linker --jit=only -o codes
// RUN: env %{environment} OFFLOOM_JIT_CACHE_DIR=%t/of-codes %offloom precompile --target sm_90 bitcode.json ./codes | FileCheck --check-prefix=BITCODE %s
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_90 OFFLOOM_JIT_CACHE_DIR=%t/of-codes ./codes 2> codes.log | diff expected -
// RUN: FileCheck --check-prefix=FOUND --implicit-check-not=compiled --input-file=codes.log %s

// What cannot be.
// RUN: not %{precompile} --target sm_75 images.json ./images 2>&1 | FileCheck --check-prefix=OTHER %s
// OTHER: offloom: cannot precompile `{{.*}}images`: its device code is for {{sm_80 and sm_90|sm_90 and sm_80}}: link it for sm_75 too, or with --jit=only for the earliest
// RUN: not %{precompile} --target sm_75 bitcode.json ./bitcode 2>&1 | FileCheck --check-prefix=EARLIER %s
// EARLIER: offloom: cannot precompile `{{.*}}bitcode`: its device code is for sm_80
// RUN: not %{precompile} --target native images.json ./images 2>&1 | FileCheck --check-prefix=HOST %s
// HOST: it has no kernel for `native` of which the statistics have a variant
// RUN: not env OFFLOOM_JIT_PTXAS=/nonexistent OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/none %offloom precompile --target sm_90 images.json ./images 2>&1 | FileCheck --check-prefix=PTXAS %s
// PTXAS: offloom: cannot precompile `{{.*}}images`: OFFLOOM_JIT_PTXAS names `/nonexistent`
#include <cstdio>

static void add(int *values, int count, int step) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    values[i] += step * count;
}

int main() {
  int values[200] = {};
  volatile int count = 100;
  for (int i = 0; i < 3; ++i) {
    add(values, count, 2);
    add(values, 2 * count, 2);
  }
  std::printf("%d %d\n", values[0], values[199]);
}
