// A weak function may be replaced by that of a native object. Where all device code of an image is bitcode, none can be, and its kernels have variants,
// with the function that the link chose.
// REQUIRES: cuda, device-runtime, gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{options} = -O2 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda --offload-arch=%gpu_processor --cuda-path=%cuda -B %dropin
// DEFINE: %{native} = %gpu_options
// RUN: %clangxx %{options} -foffload-lto -c %s -o main.o
// RUN: %clangxx %{options} -foffload-lto -DSTRONG -c %s -o strong.o
// RUN: %clangxx %{options} -fno-offload-lto %{native} -DSTRONG -c %s -o native.o
// DEFINE: %{link} = %clangxx %{options} -Xoffload-linker --jit -Wl,--wrapper-verbose %gpu_options %omp_link
// RUN: %{link} main.o -o alone 2>&1 | FileCheck --check-prefix=ALL %s
// RUN: %{link} main.o strong.o -o replaced 2>&1 | FileCheck --check-prefix=ALL %s
// RUN: %{link} main.o native.o -o native 2>&1 | FileCheck --check-prefix=NATIVE %s
// ALL: remark: {{.*}}main{{.*}}: the JIT may specialise it
// NATIVE: remark: {{.*}}main{{.*}}: stays ahead of time: it calls `{{.*}}scale{{.*}}`, which another definition may replace (a weak symbol)
// DEFINE: %{run} = %run_gpu OFFLOOM_VIRTUAL_GPU=%gpu_processor OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_STRICT=1 \
// DEFINE:   OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1
// RUN: %{run} ./alone 2> alone.log | FileCheck --check-prefix=WEAK %s
// RUN: FileCheck --check-prefix=RAN --input-file=alone.log %s
// RUN: %{run} ./replaced 2> replaced.log | FileCheck --check-prefix=STRONG %s
// RUN: FileCheck --check-prefix=RAN --input-file=replaced.log %s
// WEAK: 20
// STRONG: 30
// RAN: image copy 0: 1 launch ran a variant
#include <cstdio>

#pragma omp begin declare target
#ifdef STRONG
int scale(int value) { return 3 * value; }
#else
__attribute__((weak, noinline)) int scale(int value) { return 2 * value; }
#endif
#pragma omp end declare target

#ifndef STRONG
int main() {
  int value = 10;
#pragma omp target map(tofrom : value)
  value = scale(value);
  std::printf("%d\n", value);
}
#endif
