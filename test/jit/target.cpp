// Variants for the processor that is there, which are made by default, give the results of the stock program, which has no fused operations, and are kept apart from
// others in the cache.
// REQUIRES: x86_64-device
// DEFINE: %{sync} = OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -ffp-contract=on %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -ffp-contract=on -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env %{sync} OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_TARGET=x86-64 %run_offload ./jit 2> linked | cmp - stock.out
// RUN: FileCheck --check-prefix=MADE --input-file=linked %s
// RUN: env %{sync} OFFLOOM_JIT_STRICT=1 %run_offload ./jit 2> native | cmp - stock.out
// RUN: FileCheck --check-prefix=MADE --input-file=native %s
// RUN: env %{sync} OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_TARGET=native %run_offload ./jit 2> again | cmp - stock.out
// RUN: FileCheck --check-prefix=FOUND --input-file=again %s

// What rounds otherwise than code without it is off, behind what switches on more than itself.
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_DUMP_DIR=%t/dumps OFFLOOM_JIT_CACHE_MODE=off %run_offload ./jit > %t/dumped.out 2> %t/dump.log
// RUN: cat %t/dumps/*/launch.json | FileCheck --check-prefix=FEATURES %s
// FEATURES: "{{[^"]*}}sse2{{[^"]*}},-avx512bf16,-avx512fp16,-avxneconvert,+prefer-no-gather,+prefer-no-scatter,+prefer-256-bit"

// A processor whose code cannot run here is not taken, whatever the reason.
// RUN: env %{sync} OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_TARGET=x86-65 %run_offload ./jit 2> unknown | cmp - stock.out
// RUN: FileCheck --check-prefixes=FOUND,UNKNOWN --input-file=unknown %s
// RUN: env %{sync} OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_TARGET=i686 %run_offload ./jit 2> old | cmp - stock.out
// RUN: FileCheck --check-prefixes=FOUND,OLD --input-file=old %s
// No processor has both: FMA4 was AMD's, AMX is Intel's.
// RUN: env %{sync} OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_TARGET=bdver1 %run_offload ./jit 2> bdver1 | cmp - stock.out
// RUN: env %{sync} OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_TARGET=sapphirerapids %run_offload ./jit 2> sapphirerapids | cmp - stock.out
// RUN: cat bdver1 sapphirerapids | FileCheck --check-prefix=ABOVE %s
// UNKNOWN: OFFLOOM_JIT_TARGET=`x86-65` is ignored: LLVM knows no processor of that name
// OLD: OFFLOOM_JIT_TARGET=`i686` is ignored: it has no 64-bit mode
// ABOVE: OFFLOOM_JIT_TARGET=`{{bdver1|sapphirerapids}}` is ignored: it has {{.*}}, which this machine's processor has not

// MADE-NOT: found in the cache
// MADE: compiled in
// FOUND-NOT: compiled in
// FOUND: found in the cache
#include <cstdio>
#include <cstring>

int main() {
  static double x[1000], y[1000];
  for (int i = 0; i < 1000; ++i) {
    x[i] = 1.0 / (i + 3);
    y[i] = -x[i] * 0.1;
  }
  double factor = 0.1;
  int times = 3;
#pragma omp target teams distribute parallel for map(to : x) map(tofrom : y)
  for (int i = 0; i < 1000; ++i)
    for (int j = 0; j < times; ++j)
      y[i] = x[i] * factor + y[i];
  unsigned long sum = 0;
  for (double value : y) {
    unsigned long bits;
    std::memcpy(&bits, &value, sizeof bits);
    sum = sum * 31 + bits;
  }
  std::printf("%lx\n", sum);
}
