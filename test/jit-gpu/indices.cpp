// An index that is computed with 32 bits from a counter of 64: with arguments as constants, neighbours are at constant distances, and one instruction
// reads each. LLVM alone computes each address anew.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O3 -fopenmp -foffload-lto -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda -B %dropin %s %gpu_options \
// RUN:   %omp_link -Wl,--save-temps -o jit -Xoffload-linker --jit
// RUN: env PTX=%t/out.ptx PTXAS=%cuda/bin/ptxas python3 %S/Inputs/compile.py --worker=%dropin/offloom-jit-worker jit.nvptx64-nvidia-cuda.sm_80.jit \
// RUN:   smooth "1=i32:1000;3=i32:40;4=i32:2;teams=8;threads=128" %S/Inputs/keep-ptx.sh out.cubin
// RUN: FileCheck --input-file=out.ptx %s
// CHECK-DAG: ld.global.{{[bf]}}32 {{.*}}, [%rd{{[0-9]+}}+-4];
// CHECK-DAG: ld.global.{{[bf]}}32 {{.*}}, [%rd{{[0-9]+}}+4];
// CHECK-DAG: ld.global.{{[bf]}}32 {{.*}}, [%rd{{[0-9]+}}+-320];
// CHECK-DAG: ld.global.{{[bf]}}32 {{.*}}, [%rd{{[0-9]+}}+320];
#include <cstdio>

static void smooth(const float *in, float *out, int count, int radius, int stride) {
#pragma omp target teams distribute parallel for map(to : in[0 : count]) map(tofrom : out[0 : count])
  for (int i = 0; i < count; ++i) {
    float sum = in[i];
    int column = i % stride;
    if (column >= radius && i >= radius * stride && i < count - radius * stride)
      for (int r = 1; r <= radius; ++r)
        sum += in[i - r] + in[i + r] + in[i - r * stride] + in[i + r * stride];
    out[i] = sum;
  }
}

int main() {
  float in[1000], out[1000] = {};
  for (int i = 0; i < 1000; ++i)
    in[i] = float(i % 17);
  smooth(in, out, 1000, 2, 40);
  std::printf("%g\n", out[500]);
}
