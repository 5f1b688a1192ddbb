// A variant that was made by hand runs in a program that knows nothing of it: LLVM's own link, unchanged libomptarget. The variant's module
// lies beside the base image in the same context, and gets the same launch.
//
// REQUIRES: cuda, device-runtime, virtual-gpu
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{build} = %clangxx -w -O2 -fopenmp -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda \
// DEFINE:   %gpu_options
// RUN: %{build} %s -o program %omp_link
//
// The same kernel, with a mark of its own.
// RUN: %{build} -DMARK=2 -c -save-temps=obj %s -o variant.o
// RUN: %cuda/bin/ptxas -arch sm_80 by-hand-openmp-nvptx64-nvidia-cuda-sm_80.s -o variant.cubin
//
// DEFINE: %{environment} = LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY
// DEFINE: %{hand} = LD_PRELOAD=%jit_cuda_test JIT_CUDA_TEST_VARIANTS=kernel=variant.cubin JIT_CUDA_TEST_PARAMETERS=4
// RUN: env %{environment} ./program | FileCheck --check-prefix=BASE %s
// BASE: right, marks: 1 1 1 1 1 1 1 1
//
// RUN: env %{environment} %{hand} ./program > sync.out 2> sync.err
// RUN: FileCheck --check-prefix=VARIANT --input-file=sync.out %s
// RUN: FileCheck --check-prefix=SYNC --input-file=sync.err %s
// VARIANT: right, marks: 2 2 2 2 2 2 2 2
// SYNC: test: image 0 on device 0, sm_80
// SYNC: test: first launch: grid [32, 1, 1], block [32, 1, 1], words {{(0x3e8 )?}}0x{{[0-9a-f]+}} 0x{{[0-9a-f]+}}
// SYNC: test: image 0: 8 launches, 8 of the variant, 1 loads, 0 unloads, 0 refused
//
// By turns with the base image's kernel, both timed on the device. The variant's first launch counts if it takes a millisecond, as the virtual
// GPU may. A launch waits for the times of those before it, and nothing waits for the last one's.
// RUN: env %{environment} %{hand} JIT_CUDA_TEST_TIMED=each ./program > timed.out 2> timed.err
// RUN: FileCheck --check-prefix=TURNS --input-file=timed.out %s
// RUN: FileCheck --check-prefix=TIMED --input-file=timed.err %s
// TURNS: right, marks: 2 1 2 1 2 1 2 1
// TIMED: 8 launches, 4 of the variant, 1 loads, 0 unloads, 0 refused, times {{3 of base, (3 of variant, 2|4 of variant, 1)|4 of base, (3 of variant, 1|4 of variant, 0)}} none
//
// A cubin for another device cannot be loaded, and a kernel with other parameters is not looked at: the base image's kernel runs.
// RUN: sed 's/sm_80/sm_90/' by-hand-openmp-nvptx64-nvidia-cuda-sm_80.s > other.s
// RUN: %cuda/bin/ptxas -arch sm_90 other.s -o other.cubin
// RUN: env %{environment} %{hand} JIT_CUDA_TEST_VARIANTS=kernel=other.cubin ./program > other.out 2> other.err
// RUN: FileCheck --check-prefix=BASE --input-file=other.out %s
// RUN: FileCheck --check-prefix=OTHER --input-file=other.err %s
// OTHER: test: not loaded: loading the cubin: CUDA_ERROR_NO_BINARY_FOR_GPU (209)
// OTHER: 8 launches, 0 of the variant, 0 loads
// RUN: env %{environment} %{hand} JIT_CUDA_TEST_PARAMETERS=3 ./program 2>&1 | FileCheck --check-prefix=BASE %s
#include <cstdio>
#include <vector>

#ifndef MARK
#define MARK 1
#endif

#pragma omp begin declare target
int mark() { return MARK; }
#pragma omp end declare target

void kernel(double *values, int count, int *marked) {
#pragma omp target teams distribute parallel for map(tofrom : values[ : count]) map(from : marked[ : 1])
  for (int i = 0; i < count; ++i) {
    values[i] += i;
    if (i == 0)
      *marked = mark();
  }
}

int main() {
  std::vector<double> values(1000);
  std::vector<int> marks(8);
  for (int &marked : marks)
    kernel(values.data(), 1000, &marked);
  bool is_right = true;
  for (int i = 0; i < 1000; ++i)
    is_right = is_right && values[i] == 8.0 * i;
  std::printf("%s, marks:", is_right ? "right" : "wrong");
  for (int marked : marks)
    std::printf(" %d", marked);
  std::printf("\n");
}
