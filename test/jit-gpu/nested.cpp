// Regions in regions, and tasks. Once a thread has a state of its own, the device runtime has each thread run all iterations of the chunks that follow, so
// none may be left to others. Variables of a region that starts another are written in that one, though the code goes through one function twice.
// REQUIRES: cuda, device-runtime, gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{build} = %clangxx -O2 -fopenmp -fopenmp-targets=nvptx64 --offload-arch=%gpu_processor --cuda-path=%cuda -foffload-lto %gpu_options %s %omp_link
// DEFINE: %{run} = %run_gpu OFFLOOM_VIRTUAL_GPU=%gpu_processor OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off \
// DEFINE:   OFFLOOM_JIT_RETIRE=0
// RUN: %{build} -o stock
// RUN: %{run} ./stock | FileCheck %s
// RUN: %{build} -B %dropin -Xoffload-linker --jit -o jit
// RUN: %{run} OFFLOOM_JIT=off ./jit | FileCheck %s
// RUN: %{run} OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 ./jit 2> log | FileCheck %s
// RUN: %{run} OFFLOOM_JIT=sync OFFLOOM_JIT_SPECIALIZE=args ./jit | FileCheck %s
// RUN: %{run} OFFLOOM_JIT=sync OFFLOOM_JIT_SPECIALIZE=launch ./jit | FileCheck %s
// RUN: FileCheck --input-file=log --check-prefix=LOG %s
// CHECK: 0 0 0 0 0 0
// LOG-COUNT-6: 1 launch ran a variant
#include <cstdio>
#include <omp.h>

const int Most = 150;

static int loops(int n, int m) {
  static int c[8 * Most];
#pragma omp target teams distribute parallel for num_teams(1) map(tofrom : c)
  for (int i = 0; i < n; ++i) {
#pragma omp parallel for
    for (int t = 0; t < m; ++t)
      c[i * 8 + t] = i + t;
  }
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    for (int t = 0; t < m; ++t)
      wrong += c[i * 8 + t] != i + t;
  return wrong;
}

static int reductions(int batch, int length, int size) {
  static float in[8 * Most], out[Most];
  for (int i = 0; i < 8 * Most; ++i)
    in[i] = i % 17;
  const float *a = in;
  float *b = out;
#pragma omp target teams distribute parallel for collapse(2) map(to : a[ : 8 * Most]) map(from : b[ : Most])
  for (int i = 0; i < batch; ++i)
    for (int j = 0; j < length; ++j) {
      const float *row = a + (i * length + j) * size;
      float most = -1;
#pragma omp parallel reduction(max : most)
      for (int k = 0; k < size; ++k)
        if (row[k] > most)
          most = row[k];
      b[i * length + j] = most;
    }
  int wrong = 0;
  for (int i = 0; i < batch * length; ++i) {
    float most = -1;
    for (int k = 0; k < size; ++k)
      most = in[i * size + k] > most ? in[i * size + k] : most;
    wrong += most != out[i];
  }
  return wrong;
}

static int tasks(int n) {
  static int c[Most];
#pragma omp target teams distribute parallel for num_teams(1) map(tofrom : c)
  for (int i = 0; i < n; ++i) {
#pragma omp task shared(c) firstprivate(i)
    c[i] = i + 1;
#pragma omp taskwait
  }
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += c[i] != i + 1;
  return wrong;
}

static int tasks_in_tasks(int n) {
  static int c[Most];
#pragma omp target map(tofrom : c)
  for (int i = 0; i < n; ++i) {
#pragma omp task shared(c) firstprivate(i)
    {
      int most = -1;
#pragma omp task shared(most) firstprivate(i)
      most = 3 * i;
#pragma omp taskwait
      c[i] = most;
    }
#pragma omp taskwait
  }
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += c[i] != 3 * i;
  return wrong;
}

static int settings(int n) {
  static int c[Most];
#pragma omp target teams distribute parallel for num_teams(1) map(tofrom : c)
  for (int i = 0; i < n; ++i) {
    omp_set_max_active_levels(1);
    c[i] = i + 2;
  }
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += c[i] != i + 2;
  return wrong;
}

// Three regions, of which the innermost writes to variables of the others.
static int three(int n) {
  static int c[Most];
#pragma omp target teams distribute parallel for num_teams(1) map(tofrom : c)
  for (int i = 0; i < n; ++i) {
    int outer = -1;
#pragma omp parallel
    {
      int inner = -2;
#pragma omp parallel
      {
        inner = i;
        outer = 2 * i;
      }
      if (omp_get_thread_num() == 0)
        c[i] = inner + outer;
    }
  }
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += c[i] != 3 * i;
  return wrong;
}

int main(int argc, char **) {
  int n = 149 + argc;
  int wrong[] = {loops(n, 3), reductions(3 + argc, 5, 10), tasks(n), tasks_in_tasks(n), settings(n), three(n)};
  for (int number : wrong)
    std::printf("%d ", number);
  std::puts("");
}
