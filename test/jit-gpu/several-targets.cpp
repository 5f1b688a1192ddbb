// A program for several devices at once has a bundle for each, and each is handed to the JIT's library.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=x86_64-pc-linux-gnu,nvptx64-nvidia-cuda -Xopenmp-target=nvptx64-nvidia-cuda \
// RUN:   --offload-arch=sm_80,sm_90 --cuda-path=%cuda -B %dropin %s %gpu_options %omp_link -Wl,--save-temps -o several -Xoffload-linker --jit
// RUN: sh -c 'for file in *.jit; do python3 %S/../jit/Inputs/bundle_bitcode.py $file variant.bc matched.bc; done' | FileCheck --check-prefix=BUNDLES %s
// BUNDLES-DAG: bundle for LLVM {{[0-9]+}}, -O2, x86_64-pc-linux-gnu
// BUNDLES-DAG: bundle for LLVM {{[0-9]+}}, -O2, nvptx64-nvidia-cuda
// BUNDLES-DAG: processor sm_80
// BUNDLES-DAG: processor sm_90
// RUN: %wrapgen inspect several | FileCheck --check-prefix=INSPECT %s
// INSPECT: linked with --jit

// On either of the GPUs, and on the host's device.
// DEFINE: %{run} = env LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_80 ./several > 80.txt 2> 80.log
// RUN: FileCheck --check-prefix=LOG --input-file=80.log %s
// LOG-COUNT-3: offloom-jit: attached 1 kernel,
// RUN: FileCheck --check-prefix=OUT --input-file=80.txt %s
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_90 ./several 2> 90.log | FileCheck --check-prefix=OUT %s
// RUN: env LD_LIBRARY_PATH= %run_offload ./several | FileCheck --check-prefix=OUT %s
// OUT: 49995000

#include <cstdio>

int main() {
  long sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : sum)
  for (int i = 0; i < 10000; ++i)
    sum += i;
  printf("%ld\n", sum);
}
