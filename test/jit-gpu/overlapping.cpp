// Products of matrices whose size a variant knows: straight-line code, with a form for memory that does not overlap, in which nothing is loaded twice. Where
// the result lies on what is still to be read, the variant computes what the loops say.
// REQUIRES: cuda, device-runtime, gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -fopenmp-targets=nvptx64 --offload-arch=%gpu_processor --cuda-path=%cuda -foffload-lto -B %dropin -Xoffload-linker --jit \
// RUN:   %gpu_options %s -o jit %omp_link -Wl,--save-temps
// DEFINE: %{run} = %run_gpu OFFLOOM_VIRTUAL_GPU=%gpu_processor OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off
// RUN: %{run} OFFLOOM_JIT=off ./jit | FileCheck --check-prefix=RIGHT %s
// RUN: %{run} OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1 ./jit 2> log | FileCheck --check-prefix=RIGHT %s
// RUN: FileCheck --input-file=log --check-prefix=LOG %s
// RIGHT: 0 of 48 places wrong
// LOG: {{[1-9][0-9]*}} launches ran a variant
//
// The addresses are compared before that code.
// RUN: env PTX=%t/out.ptx PTXAS=%cuda/bin/ptxas python3 %S/Inputs/compile.py --worker=%dropin/offloom-jit-worker jit.nvptx64-nvidia-cuda.%gpu_processor.jit \
// RUN:   multiply "1=i32:64;2=i32:3;teams=1;threads=64" %S/Inputs/keep-ptx.sh out.cubin
// RUN: FileCheck --input-file=out.ptx --check-prefix=FORMS %s
// FORMS-COUNT-2: setp.{{[gl][et]}}.u64
// FORMS: st.global
#include <cstdio>
#include <vector>

const int Products = 64, Room = 64;

// Each product has room of its own, in which all three matrices lie.
static void multiply(const long *a, const long *b, long *c, int size, int products) {
#pragma omp target teams distribute parallel for
  for (int product = 0; product < products; ++product)
    for (int i = 0; i < size; ++i)
      for (int j = 0; j < size; ++j) {
        long sum = 0;
        for (int k = 0; k < size; ++k)
          sum += a[product * Room + i * size + k] * b[product * Room + k * size + j];
        c[product * Room + i * size + j] = sum;
      }
}

static void multiply_here(const long *a, const long *b, long *c, int size) {
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) {
      long sum = 0;
      for (int k = 0; k < size; ++k)
        sum += a[i * size + k] * b[k * size + j];
      c[i * size + j] = sum;
    }
}

int main() {
  volatile int size = 3;
  int wrong = 0;
  for (int place = 0; place < 48; ++place) {
    std::vector<long> memory(Products * Room), expected;
    for (int at = 0; at < Products * Room; ++at)
      memory[at] = at % 7 - 3;
    expected = memory;
    for (int product = 0; product < Products; ++product) {
      long *room = &expected[product * Room];
      multiply_here(room + 12, room + 24, room + place, size);
    }
    long *all = memory.data();
#pragma omp target data map(tofrom : all[0 : Products * Room])
    multiply(all + 12, all + 24, all + place, size, Products);
    wrong += memory != expected;
  }
  std::printf("%d of 48 places wrong\n", wrong);
}
