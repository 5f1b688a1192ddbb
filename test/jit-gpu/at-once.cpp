// Host threads, and then `nowait` tasks, launch kernels at the same time, on many streams of two devices, while variants are loaded and unloaded in
// the background: each result is right, whichever kernel made it.
//
// REQUIRES: cuda, device-runtime, virtual-gpu
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{build} = %clangxx -O2 -fopenmp -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda \
// DEFINE:   %gpu_options
// RUN: %{build} %s -o program %omp_link
// RUN: %{build} -DMARK=2 -c -save-temps=obj %s -o variant.o
// RUN: %cuda/bin/ptxas -arch sm_80 at-once-openmp-nvptx64-nvidia-cuda-sm_80.s -o variant.cubin
//
// DEFINE: %{environment} = LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_VIRTUAL_GPU=sm_80,sm_80 OMP_NUM_TEAMS=2 \
// DEFINE:   LD_PRELOAD=%jit_cuda_test JIT_CUDA_TEST_VARIANTS=kernel=variant.cubin JIT_CUDA_TEST_PARAMETERS=4
// RUN: env %{environment} JIT_CUDA_TEST_LOAD=async JIT_CUDA_TEST_UNLOAD_AFTER=5 ./program > async.out 2> async.err
// RUN: FileCheck --check-prefix=RIGHT --input-file=async.out %s
// RUN: FileCheck --check-prefix=ASYNC --implicit-check-not="not loaded" --implicit-check-not="not unloaded" --input-file=async.err %s
// RIGHT: 0 wrong, base and variants ran
// ASYNC-COUNT-4: launches, {{[1-9][0-9]*}} of the variant, {{[1-9][0-9]*}} loads, {{[1-9][0-9]*}} unloads, 0 refused
//
// RUN: env %{environment} JIT_CUDA_TEST_TIMED=1 ./program > timed.out 2> timed.err
// RUN: FileCheck --check-prefix=RIGHT --input-file=timed.out %s
// RUN: FileCheck --check-prefix=TIMED --input-file=timed.err %s
// TIMED-COUNT-4: 1 loads, 0 unloads, 0 refused, times {{[1-9][0-9]*}} of base, {{[1-9][0-9]*}} of variant
#include <atomic>
#include <cstdio>
#include <omp.h>
#include <thread>
#include <vector>

#ifndef MARK
#define MARK 1
#endif

#pragma omp begin declare target
int mark() { return MARK; }
#pragma omp end declare target

static std::atomic<int> wrong, of_kernel[3];

static void kernel(int device, int seed, double *values, int *marked) {
#pragma omp target teams distribute parallel for device(device) map(tofrom : values[ : 64]) map(from : marked[ : 1])
  for (int i = 0; i < 64; ++i) {
    values[i] += i * seed;
    if (i == 0)
      *marked = mark();
  }
}

static void kernel_nowait(int device, int seed, double *values, int *marked) {
#pragma omp target teams distribute parallel for nowait device(device) map(tofrom : values[ : 64]) map(from : marked[ : 1])
  for (int i = 0; i < 64; ++i) {
    values[i] += i * seed;
    if (i == 0)
      *marked = mark();
  }
}

static void check(int seed, const double *values, int marked) {
  for (int i = 0; i < 64; ++i)
    wrong += values[i] != 1.0 + i * seed;
  ++of_kernel[marked];
}

// LLVM 19's libomp takes tasks of target regions from its initial thread alone, with no other threads: it ends programs otherwise, also without us.
static void launch(int thread, decltype(kernel) run) {
  for (int round = 0; round < 10; ++round) {
    std::vector<double> values(5 * 64, 1.0);
    int marks[5] = {};
    for (int number = 0; number < 5; ++number)
      run((thread + round + number) % 2, thread + number, &values[64 * number], &marks[number]);
#pragma omp taskwait
    for (int number = 0; number < 5; ++number)
      check(thread + number, &values[64 * number], marks[number]);
  }
}

int main() {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back(launch, thread, kernel);
  for (std::thread &thread : threads)
    thread.join();
  launch(4, kernel_nowait);
  std::printf("%d wrong, %s ran\n", wrong.load(), of_kernel[1] && of_kernel[2] && !of_kernel[0] ? "base and variants" : "not both");
}
