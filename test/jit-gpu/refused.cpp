// A variant that the driver refuses to launch: the launch runs the kernel of the image, later ones too, one line says so, and the statistics say what became
// of the variant. The assembler here is given another block than that of the launch.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: sed -e 's|@PTXAS@|%cuda/bin/ptxas|' %S/Inputs/other-block.sh > other-block && chmod +x other-block
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64-nvidia-cuda --offload-arch=sm_80 --cuda-path=%cuda -B %dropin \
// RUN:   -Xoffload-linker --jit %s -o program %gpu_options %omp_link
// DEFINE: %{run} = env LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_JIT_PTXAS=%t/other-block \
// DEFINE:   OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT=sync
// RUN: %{run} OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STATS=kept.json ./program > out 2> err
// RUN: FileCheck --input-file=out %s
// RUN: FileCheck --check-prefix=SAID --implicit-check-not='{{.}}' --input-file=err %s
// RUN: %offloom explain kept.json | FileCheck --check-prefix=EXPLAIN %s
// RUN: %{run} OFFLOOM_JIT_STATS=timed.json ./program 2> err | FileCheck %s
// RUN: FileCheck --check-prefix=SAID --implicit-check-not='{{.}}' --input-file=err %s
// RUN: %offloom explain timed.json | FileCheck --check-prefix=EXPLAIN %s
// CHECK: 40
// SAID: offloom-jit: {{.*}}add{{.*}}: image copy 0: the driver refuses to launch a variant: {{.*}}: the kernel stays ahead of time for its launches
// EXPLAIN: retired: the device refuses to launch it: {{.*}}CUDA_ERROR
#include <cstdio>

static void add(int *values, int count, int step) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    values[i] += step;
}

int main() {
  int values[100] = {};
  for (int i = 0; i < 20; ++i)
    add(values, 100, 2);
  for (int value : values)
    if (value != values[0])
      return 1;
  std::printf("%d\n", values[0]);
}
