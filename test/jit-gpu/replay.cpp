// One launch on a GPU, dumped and run by itself: allocations are elsewhere then, and pointers in them, in variables of the image and from there
// into memory follow; variables are as they were at each run; a variant that is wrong is noticed; dumps that do not fit are refused.
// REQUIRES: cuda, device-runtime, gpu, libdevice
// DEFINE: %{jit} = %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64 --offload-arch=%gpu_processor --cuda-path=%cuda -B %dropin %s \
// DEFINE:   %gpu_options %omp_link
// DEFINE: %{run} = %run_gpu OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off
// DEFINE: %{replay} = %run_gpu OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas %offloom
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %{jit} -o jit -Xoffload-linker --jit
// RUN: %{run} OFFLOOM_JIT_DUMP_DIR=%t/dumps ./jit | FileCheck --check-prefix=PROGRAM %s
// PROGRAM: sums 30030 22840, calls 2, total 499500
// Four kernels, one of them with two values of a scalar.
// RUN: ls dumps | count 5
// RUN: mv dumps/*walk*-1 first && mv dumps/*walk*-2 second && mv dumps/*total* total && mv dumps/*scale* scale

// RUN: %{replay} replay first | FileCheck --check-prefixes=SAME,FIRST %s
// RUN: %{replay} replay second | FileCheck --check-prefixes=SAME,SECOND %s
// SAME: __omp_offloading_{{.*}}walk
// FIRST-NEXT: specialised to {{.*}} = 7 (i64)
// SECOND-NEXT: specialised to {{.*}} = 5 (i64)
// SAME-NEXT: recorded on {{.*}}, sm_{{[0-9]+$}}
// SAME-NEXT: compared {{[1-9][0-9]*}} bytes: the same bits
// SAME-NOT: not compared
// SAME: fastest of {{[1-9][0-9]*}} runs: ahead of time {{[0-9.]+}} ms, variant {{[0-9.]+}} ms
// SAME-NEXT: compiled in {{[0-9.]+}} ms, {{[1-9][0-9]*}} bytes
// Sums over teams, by way of a buffer that the runtime has allocated.
// RUN: %{replay} replay total | FileCheck --check-prefix=TOTAL %s
// TOTAL: compared {{[1-9][0-9]*}} bytes: the same bits
// Most of 8 MiB is zero.
// RUN: %{replay} replay scale | FileCheck --check-prefix=SCALE %s
// RUN: python3 -c "import os; assert os.stat('scale/memory').st_size < 100000, os.stat('scale/memory')"
// SCALE: compared {{[1-9][0-9]*}} bytes: the same bits

// A variant for other values than those of the launch, and one that is given up by the device.
// RUN: cp -r scale wrong && sed -i 's/i64:0x7/i64:0x8/' wrong/launch.json
// RUN: not %{replay} replay wrong > wrong.out 2> wrong.err
// RUN: FileCheck --check-prefix=WRONG --input-file=wrong.out %s
// RUN: FileCheck --check-prefix=WRONG-ERROR --input-file=wrong.err %s
// WRONG: words of 8 bytes differ
// WRONG-NEXT: argument {{[0-9]+}} + 0x8: 0x0000000000000004 ahead of time, 0x0000000000000003 by the variant
// WRONG-ERROR: offloom: the variant leaves other bits than the ahead-of-time code in {{[0-9]+}} words
// RUN: cp -r scale far && sed -i 's/i64:0x1/i64:0x4000000000/' far/launch.json
// RUN: not %{replay} replay far 2>&1 | FileCheck --check-prefix=FAR %s
// FAR: offloom: cannot replay `far`: launching the variant: CUDA_ERROR_ILLEGAL_ADDRESS (700)

// RUN: sed 's/"kernel": "/"kernel": "other/' first/launch.json > changed && cp -r first torn && mv changed torn/launch.json
// RUN: not %{replay} replay torn 2>&1 | FileCheck --check-prefix=KERNEL %s
// KERNEL: offloom: cannot replay `torn`: finding the kernel in the device image: CUDA_ERROR_NOT_FOUND (500)
// Another program's image.
// RUN: %{jit} -DOTHER -o other -Xoffload-linker --jit
// RUN: %{run} OFFLOOM_JIT_DUMP_DIR=%t/others ./other 2> other.err | FileCheck --check-prefix=PROGRAM %s
// RUN: FileCheck --check-prefix=PART --input-file=other.err %s
// PART: offloom-jit: __omp_offloading_{{.*}}part{{.*}}: a launch is not dumped: argument {{[0-9]+}} points into no allocation, as that of a part
// RUN: python3 %S/Inputs/exchange_image.py first others/*
// RUN: not %{replay} replay first 2>&1 | FileCheck --check-prefix=IMAGE %s
// IMAGE: offloom: cannot replay `first`: the image does not belong to the bundle

// What is made on the device as the program starts is dumped too, and what is launched asynchronously.
// RUN: %{jit} -o only -Xoffload-linker --jit=only
// RUN: %{run} OFFLOOM_JIT=async OFFLOOM_JIT_STRICT=0 OFFLOOM_JIT_DUMP_DIR=%t/made ./only | FileCheck --check-prefix=PROGRAM %s
// RUN: mv made/*walk*-1 made-first && %{replay} replay made-first | FileCheck --check-prefixes=SAME,FIRST %s

// No driver, and no GPU that is like the one that the launch ran on.
// RUN: not env OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas LD_LIBRARY_PATH= %offloom replay second 2>&1 | FileCheck --check-prefix=DRIVER %s
// DRIVER: offloom: cannot replay `second`: there is no driver for NVIDIA GPUs, no library `libcuda.so`
// RUN: sed -e 's/"name": ".*"/"name": "Other"/' -e '/"capability"/,/]/ s/^ *[0-9][0-9]*,$/      3,/' second/launch.json > changed && mv changed second/launch.json
// RUN: not %{replay} replay second 2>&1 | FileCheck --check-prefix=DEVICE %s
// DEVICE: offloom: cannot replay `second`: the launch ran on Other (sm_3{{[0-9]+}}), and no GPU here runs code for it
#include <cstdint>
#include <cstdio>
#include <omp.h>
#include <vector>

struct Node {
  int64_t value;
  Node *next;
};

#pragma omp begin declare target
int calls = 0;
int64_t factor = 1;
Node *first = nullptr;
#pragma omp end declare target

#ifdef OTHER
static int64_t more[5];
#pragma omp declare target(more)

// What libomptarget passes is the address of the first element, which is not there.
static void part(double *values, int64_t begin, int64_t count) {
#pragma omp target teams distribute parallel for map(tofrom : values[begin : count])
  for (int64_t i = begin; i < begin + count; ++i)
    values[i] += more[i % 5];
}
#endif

// Pointers within memory, from a variable into memory, and from memory to a variable.
static int64_t walk(int64_t **factors, int64_t by) {
  int64_t sum = 0;
#pragma omp target map(tofrom : sum) is_device_ptr(factors)
  {
    ++calls;
    for (Node *node = first; node; node = node->next) {
      node->value = node->value * *factors[0] % by;
      sum += 10 * node->value;
      node->value += *factors[0];
    }
  }
  return sum;
}

static double total(const double *values, int count) {
  double sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : values[0 : count])
  for (int i = 0; i < count; ++i)
    sum += values[i];
  return sum;
}

static void scale(int64_t *values, int64_t by, int64_t step, int64_t count) {
#pragma omp target teams distribute parallel for is_device_ptr(values)
  for (int64_t i = 0; i < count; ++i)
    values[i * step] = i * 31 / by;
}

int main() {
  const int device = omp_get_default_device(), count = 1000;
  auto *nodes = static_cast<Node *>(omp_target_alloc(count * sizeof(Node), device));
  auto **factors = static_cast<int64_t **>(omp_target_alloc(sizeof(int64_t *), device));
#pragma omp target is_device_ptr(nodes, factors)
  {
    for (int i = 0; i < count; ++i)
      nodes[i] = {i + 1, i + 1 < count ? &nodes[i + 1] : nullptr};
    first = nodes;
    factor = 3;
    factors[0] = &factor;
  }
  int64_t sums[2];
  sums[0] = walk(factors, 7);
  sums[1] = walk(factors, 5);
  double values[count];
  for (int i = 0; i < count; ++i)
    values[i] = i;
  const size_t size = 8 << 20;
  auto *large = static_cast<int64_t *>(omp_target_alloc(size, device));
  const std::vector<char> zeros(size);
  omp_target_memcpy(large, zeros.data(), size, 0, 0, device, omp_get_initial_device());
  scale(large, 7, 1, 100);
#pragma omp target update from(calls)
#ifdef OTHER
  const int64_t begin = int64_t(1) << 33;
  part(reinterpret_cast<double *>(reinterpret_cast<int64_t>(values) - begin * int64_t(sizeof(double))), begin, count);
#endif
  std::printf("sums %ld %ld, calls %d, total %g\n", long(sums[0]), long(sums[1]), calls, total(values, count));
}
