// The JIT on AMD GPUs, with the stand-in for AMD's runtime: launches come to variants, whose code has the launch's numbers in it. Nothing is executed.
// REQUIRES: own-device-runtime, llvm-19
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{options} = -O2 -fopenmp -foffload-lto -nogpulib -fopenmp-targets=amdgcn-amd-amdhsa --offload-arch=gfx90a,gfx1030 -B %dropin
// DEFINE: %{link} = %clang %{options} a.o %omp_link -L%device_runtime_folder -lomptarget.devicertl
// DEFINE: %{run} = rm -f log && %run_hsa OFFLOOM_JIT=sync OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_VIRTUAL_HSA_LOG=log
// RUN: %clang %{options} -c %s -o a.o
// RUN: %{link} -o plain
// RUN: %{link} -o jit -Xoffload-linker --jit -Wl,--wrapper-verbose 2> link.txt
// RUN: FileCheck --check-prefix=LINK --input-file=link.txt %s
// LINK-DAG: {{.*}}scale{{.*}}: the JIT may specialise it
// LINK-DAG: {{.*}}call{{.*}}: stays ahead of time: `{{.*}}` calls through a pointer, which may lead into the base image

// The image is that of a link without --jit, and an exported variable.
// RUN: %wrapgen extract plain --number=0 -o plain.image && %wrapgen extract jit --number=0 -o jit.image
// RUN: %llvm_bin/llvm-nm --dynamic --defined-only --format=just-symbols plain.image | sort > plain.symbols
// RUN: %llvm_bin/llvm-nm --dynamic --defined-only --format=just-symbols jit.image | sort > jit.symbols
// RUN: comm -3 plain.symbols jit.symbols | FileCheck --implicit-check-not=_ --check-prefix=SYMBOLS %s
// SYMBOLS: __offloom_jit_image

// There are no images for AMD GPUs that are made when the program starts.
// RUN: %{link} -o only -Xoffload-linker --jit=only && %wrapgen inspect only | FileCheck --check-prefix=ONLY %s
// ONLY: linked with --jit
// ONLY: 0 {{ *}}object {{ *}}openmp {{ *}}amdgcn-amd-amdhsa {{ *}}gfx

// It is off by default.
// RUN: %{run} OFFLOOM_VIRTUAL_HSA=gfx90a OFFLOOM_JIT_LOG=1 ./jit 2>&1 | FileCheck --check-prefix=OFF %s
// OFF: offloom-jit: kernels on AMD GPUs stay ahead of time: the JIT has never run on one (OFFLOOM_JIT_AMDGPU=on tries it)
// RUN: FileCheck --check-prefix=BASE --input-file=log %s
// BASE: queue: {{.*}} plain
// BASE-NOT: $jit
// BASE: summary: {{.*}} faults=0

// RUN: %{run} OFFLOOM_VIRTUAL_HSA=gfx90a OFFLOOM_JIT_AMDGPU=on OFFLOOM_JIT_STATS=%t/stats ./jit
// RUN: FileCheck --check-prefix=VARIANTS --input-file=log %s
// VARIANTS: queue: {{.*}} intercepted
// VARIANTS-DAG: kernel: {{.*}}scale{{.*}}$jit queue=0 grid=128x1x1 workgroup=32x1x1
// VARIANTS-DAG: kernel: {{.*}}call{{[^$ ]*}} queue=0
// VARIANTS: summary: {{.*}} faults=0
// RUN: %offloom explain stats | FileCheck --check-prefix=EXPLAIN %s
// EXPLAIN: scale()
// EXPLAIN: argument 1 = 100 (i32), teams = 4, threads = 32
// EXPLAIN: gfx90a
// EXPLAIN: the JIT has never been tried on an AMD GPU
// RUN: %offloom report stats -o report.html && FileCheck --check-prefix=REPORT --input-file=report.html %s
// REPORT: On a GPU; of the variant, and ahead of time
// REPORT: <td data-label="device">gfx90a</td>
// REPORT: the JIT has never been tried on an AMD GPU

// The variant for 100 elements and 128 threads: no loop, and nothing is asked of the launch.
// RUN: python3 %S/Inputs/code_objects.py cache scale | xargs %llvm_bin/llvm-objdump -d --no-show-raw-insn | FileCheck --check-prefix=CODE %s
// CODE: scale{{.*}}$jit>:
// CODE-NOT: s_load_dword s
// CODE-NOT: s_cbranch_execnz
// CODE: v_fmac_f64
// CODE-NOT: s_cbranch_execnz
// CODE: s_endpgm

// From the cache, which holds one for the other processor too.
// RUN: %{run} OFFLOOM_VIRTUAL_HSA=gfx90a OFFLOOM_JIT_AMDGPU=on OFFLOOM_JIT_STATS=%t/stats ./jit
// RUN: %offloom explain stats | FileCheck --check-prefix=CACHE %s
// CACHE: argument 1 = 100 (i32), teams = 4, threads = 32 {{ *}}cache
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache %offloom precompile --target gfx1030 stats jit | FileCheck --check-prefix=PRECOMPILE %s
// PRECOMPILE: gfx1030 {{.*}} argument 1 = 100 (i32), teams = 4, threads = 32 {{ *}}compiled
// RUN: %{run} OFFLOOM_VIRTUAL_HSA=gfx1030 OFFLOOM_JIT_AMDGPU=on OFFLOOM_JIT_STATS=%t/stats ./jit
// RUN: %offloom explain stats | FileCheck --check-prefix=CACHE %s
// RUN: not env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache %offloom precompile --target gfx906 stats jit 2>&1 | FileCheck --check-prefix=OTHER %s
// OTHER: its device code is for gfx90a and gfx1030: link it for gfx906 too

// No more of the device's memory than variants may take.
// RUN: %{run} OFFLOOM_VIRTUAL_HSA=gfx90a OFFLOOM_JIT_AMDGPU=on OFFLOOM_JIT_DEVICE_MEMORY=1K OFFLOOM_JIT_LOG=1 ./jit 2>&1 | FileCheck --check-prefix=FULL %s
// FULL: {{.*}}scale{{.*}}: stays ahead of time on image copy 0: with its {{[0-9]+}} bytes, variants would take more than 1024 bytes of the device's memory
// RUN: FileCheck --check-prefix=NONE --input-file=log %s
// NONE: queue: {{.*}} intercepted
// NONE-NOT: $jit
// NONE: summary: {{.*}} faults=0

// Beside a tool that is named.
// RUN: %clang -w -shared -fPIC %S/../virtual-hsa/lit/Inputs/tool.c -o libtool.so
// RUN: %{run} OFFLOOM_VIRTUAL_HSA=gfx90a OFFLOOM_JIT_AMDGPU=on HSA_TOOLS_LIB=./libtool.so ./jit && FileCheck --check-prefix=VARIANTS --input-file=log %s

// An older runtime has what intercepts queues elsewhere in its table.
// RUN: %{run} OFFLOOM_VIRTUAL_HSA=gfx90a OFFLOOM_JIT_AMDGPU=on OFFLOOM_JIT_LOG=1 OFFLOOM_VIRTUAL_HSA_TABLES=1 ./jit 2>&1 | FileCheck --check-prefix=OLD %s
// OLD: offloom-jit: AMD's runtime lets no queue be intercepted here: it is older than ROCm 6, {{.*}}: kernels on AMD GPUs stay ahead of time
// RUN: FileCheck --check-prefix=BASE --input-file=log %s

// Launches are timed, which takes a packet more. All kernels seem to run for 300 us, so a variant is hardly any faster.
// RUN: %{run} OFFLOOM_VIRTUAL_HSA=gfx90a OFFLOOM_VIRTUAL_HSA_KERNEL_TIME=300 OFFLOOM_JIT_AMDGPU=on OFFLOOM_JIT_RETIRE=1 OFFLOOM_JIT_CACHE_DIR=%t/other OFFLOOM_JIT_STATS=%t/stats ./jit 300
// RUN: %offloom explain stats | FileCheck --check-prefix=RETIRED %s
// RETIRED: argument 1 = 100 (i32), teams = 4, threads = 32 {{ *}}compiler {{.*}} {{[0-9]+\.[0-9]+ +[0-9]+\.[0-9]+}} {{ *(retired: not faster|kept)}}
// RUN: FileCheck --check-prefix=TIMED --input-file=log %s
// TIMED: $jit
// TIMED: summary: packets={{3[1-9][0-9]|[4-6][0-9][0-9]}} kernels=301 faults=0

#include <stdlib.h>

static void scale(int n, double factor, double *x, const double *y) {
#pragma omp target teams distribute parallel for map(tofrom : x[ : n]) map(to : y[ : n])
  for (int i = 0; i < n; ++i)
    x[i] += factor * y[i];
}

#pragma omp begin declare target
int twice(int value) { return 2 * value; }
int (*operation)(int) = twice;
#pragma omp end declare target

static int call(int value) {
#pragma omp target map(tofrom : value)
  value = operation(value);
  return value;
}

int main(int argc, char **argv) {
  double x[100], y[100];
  for (int i = 0; i < 100; ++i)
    x[i] = y[i] = i;
  int rounds = argc > 1 ? atoi(argv[1]) : 3;
  for (int round = 0; round < rounds; ++round)
    scale(100, 0.5 + round, x, y);
  call(21);
  return 0;
}
