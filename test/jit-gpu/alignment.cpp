// Pointers that are aligned more than their type: a variant takes two numbers at a time, which a GPU refuses at other addresses. A launch whose pointers are not
// aligned so gets another variant.
// REQUIRES: cuda, device-runtime, gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -fopenmp-targets=nvptx64 --offload-arch=%gpu_processor --cuda-path=%cuda -foffload-lto -B %dropin -Xoffload-linker --jit \
// RUN:   %gpu_options %s -o jit %omp_link -Wl,--save-temps
// DEFINE: %{run} = %run_gpu OFFLOOM_VIRTUAL_GPU=%gpu_processor OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off
// RUN: %{run} OFFLOOM_JIT=off ./jit | FileCheck --check-prefix=RIGHT %s
// RUN: %{run} OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_STATS=statistics ./jit 2> log | FileCheck --check-prefix=RIGHT %s
// RIGHT: {{^}}0 wrong{{$}}
// RUN: FileCheck --input-file=log %s
// CHECK: for kernel={{.*}};2=align:32;3=align:32;
// CHECK: for kernel={{.*}};2=align:8;3=align:8;
// CHECK: 12 launches ran a variant{{$}}
// RUN: %offloom explain statistics | FileCheck --check-prefix=EXPLAINED %s
// EXPLAINED: wider accesses
//
// DEFINE: %{compile} = env PTX=%t/out.ptx PTXAS=%cuda/bin/ptxas python3 %S/Inputs/compile.py --worker=%dropin/offloom-jit-worker
// DEFINE: %{bundle} = jit.nvptx64-nvidia-cuda.%gpu_processor.jit
// RUN: %{compile} %{bundle} add "1=i32:96;2=align:16;3=align:16;teams=1;threads=96" %S/Inputs/keep-ptx.sh out.cubin
// RUN: FileCheck --input-file=out.ptx --check-prefix=WIDE %s
// WIDE-COUNT-2: ld.global{{.*}}.v2.{{[bf]}}64
// WIDE: st.global.v2.{{[bf]}}64
// RUN: %{compile} %{bundle} add "1=i32:96;2=align:8;3=align:8;teams=1;threads=96" %S/Inputs/keep-ptx.sh out.cubin
// RUN: FileCheck --input-file=out.ptx --check-prefix=NARROW --implicit-check-not=.v2. %s
// NARROW: st.global.{{[bf]}}64
#include <cstdio>
#include <omp.h>
#include <vector>

struct number {
  double real, imaginary;
};

static void add(int count, const number *from, number *to) {
#pragma omp target teams distribute parallel for is_device_ptr(from, to)
  for (int i = 0; i < count; ++i) {
    to[i].real += 2 * from[i].real;
    to[i].imaginary += 3 * from[i].imaginary;
  }
}

int main() {
  const int Count = 96, Room = 2 * Count + 2, Device = omp_get_default_device(), Host = omp_get_initial_device();
  auto *from = static_cast<double *>(omp_target_alloc(Room * sizeof(double), Device));
  auto *to = static_cast<double *>(omp_target_alloc(Room * sizeof(double), Device));
  std::vector<double> start(Room), expected(Room), result(Room);
  for (int i = 0; i < Room; ++i)
    start[i] = expected[i] = i;
  omp_target_memcpy(from, start.data(), Room * sizeof(double), 0, 0, Device, Host);
  omp_target_memcpy(to, start.data(), Room * sizeof(double), 0, 0, Device, Host);
  for (int launch = 0; launch < 12; ++launch) {
    // Two that are aligned to the room's start, two that are not, two of which one is.
    const int offset_from = launch / 2 % 3 == 1, offset_to = launch / 2 % 3 != 0;
    add(Count, reinterpret_cast<number *>(from + offset_from), reinterpret_cast<number *>(to + offset_to));
    for (int i = 0; i < 2 * Count; ++i)
      expected[i + offset_to] += (i % 2 ? 3 : 2) * start[i + offset_from];
  }
  omp_target_memcpy(result.data(), to, Room * sizeof(double), 0, 0, Host, Device);
  int wrong = 0;
  for (int i = 0; i < Room; ++i)
    wrong += result[i] != expected[i];
  printf("%d wrong\n", wrong);
  omp_target_free(from, Device);
  omp_target_free(to, Device);
}
