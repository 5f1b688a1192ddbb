// `printf` in a target region prints what it prints on the host, of each thread.
// REQUIRES: cuda, device-runtime, gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{build} = %clangxx -O2 -fopenmp -fopenmp-targets=nvptx64 --offload-arch=%gpu_processor --cuda-path=%cuda -foffload-lto \
// DEFINE:   %gpu_options %s %omp_link
// DEFINE: %{run} = %run_gpu OFFLOOM_VIRTUAL_GPU=%gpu_processor
// RUN: %{build} -o stock && %{run} ./stock | sort | uniq -c > stock.out
// RUN: FileCheck --input-file=stock.out %s
// RUN: %{build} -B %dropin -Xoffload-linker --jit -o jit && %{run} OFFLOOM_JIT=sync OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas ./jit | sort | uniq -c | diff stock.out -
// CHECK: 1 the host: 7 {{ *}}-1.50 text x 1099511627776 0xff 18446744073709551615 %
// CHECK-NEXT: 64 thread: 0 {{ *}}-0.00 text x 1099511627776 0xff 18446744073709551615 %
// CHECK-NEXT: 64 thread: 1 {{ *}}-1.50 text x 1099511627776 0xff 18446744073709551615 %
#include <cstdio>

#define LINE "%s: %d %6.2f %s %c %lld %#x %llu %%\n"

int main() {
#pragma omp target teams num_teams(2)
#pragma omp parallel num_threads(32)
  for (int i = 0; i < 2; ++i)
    printf(LINE, "thread", i, -1.5 * i, "text", 'x', 1LL << 40, 255, ~0ULL);
  printf(LINE, "the host", 7, -1.5, "text", 'x', 1LL << 40, 255, ~0ULL);
}
