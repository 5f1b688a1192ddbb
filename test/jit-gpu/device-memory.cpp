// Variants take no more of a device's memory than they may: launches for which there is no room run the kernel of the image. That is no failure, and
// what unloads makes room.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64-nvidia-cuda --offload-arch=sm_80 --cuda-path=%cuda -B %dropin \
// RUN:   -Xoffload-linker --jit %s -o program %gpu_options %omp_link
// DEFINE: %{run} = env LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_STRICT=1 \
// DEFINE:   OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1
// RUN: %{run} OFFLOOM_JIT=off ./program > expected
// RUN: %{run} ./program 2> all.log | diff expected -
// RUN: FileCheck --check-prefix=ALL --implicit-check-not=more --input-file=all.log %s
// ALL: 5 launches ran a variant
// Room for two: with LLVM 19 one of them is less than 8 KiB, and three are more than 15; with LLVM 21 less than 10 and more than 20.
// RUN: %{run} OFFLOOM_JIT_DEVICE_MEMORY=%if llvm-19 %{15K%} %else %{20K%} ./program 2> two.log | diff expected -
// RUN: FileCheck --check-prefix=TWO --input-file=two.log %s
// TWO-COUNT-3: stays ahead of time on image copy 0: with its {{[0-9]+}} bytes, variants would take more than {{15360|20480}} bytes of the device's memory
// TWO: 2 launches ran a variant
// RUN: %{run} OFFLOOM_JIT_DEVICE_MEMORY=0 ./program 2> none.log | diff expected -
// RUN: FileCheck --check-prefix=NONE --implicit-check-not='ran a variant' --input-file=none.log %s
// NONE-COUNT-5: variants would take more than 0 bytes
#include <cstdio>

int main() {
  int values[100] = {};
  volatile int counts[] = {60, 70, 80, 90, 100};
  for (volatile int &each : counts) {
    int count = each;
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
    for (int i = 0; i < count; ++i)
      values[i] += 3 * count;
  }
  std::printf("%d %d\n", values[0], values[99]);
}
