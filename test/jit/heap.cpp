// Heap memory of a region holds what was copied into it, ahead of time and in variants. LLVM makes stack memory of it, and may not see then what the copy
// wrote: by its own tools with -foffload-lto, in the function of a template.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{options} = -O2
// DEFINE: %{build} = %clangxx %{options} %omp_compile %s -o program %omp_link
// DEFINE: %{run} = env OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload ./program
// RUN: %{build} && %{run} 2>&1 | FileCheck %s
// REDEFINE: %{options} = -O2 -foffload-lto=thin -B %dropin -Xoffload-linker --jit
// RUN: %{build} && env OFFLOOM_JIT=off %{run} 2>&1 | FileCheck %s
// RUN: env OFFLOOM_JIT=sync %{run} 2>&1 | FileCheck --check-prefixes=CHECK,RAN %s
// REDEFINE: %{options} = -O3 -foffload-lto -B %dropin -Xoffload-linker --jit
// RUN: %{build} && env OFFLOOM_JIT=off %{run} 2>&1 | FileCheck %s
// RUN: env OFFLOOM_JIT=sync %{run} 2>&1 | FileCheck --check-prefixes=CHECK,RAN %s
// REDEFINE: %{options} = -O2 -foffload-lto -B %dropin -Xoffload-linker --jit=only
// RUN: %{build} && env OFFLOOM_JIT=off %{run} 2>&1 | FileCheck %s
// RUN: env OFFLOOM_JIT=sync %{run} 2>&1 | FileCheck --check-prefixes=CHECK,RAN %s
// CHECK-DAG: copied 40, vector 40, function 40
// RAN-DAG: copied{{.*}} 1 launch ran a variant
// RAN-DAG: in_vector{{.*}} 1 launch ran a variant
// RAN-DAG: in_function{{.*}} 1 launch ran a variant
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static double copied(const double *in, int n) {
  double out = -1;
#pragma omp target map(tofrom : out) map(to : in[0 : 8]) firstprivate(n)
  {
    double *memory = static_cast<double *>(std::malloc(8 * sizeof(double)));
    std::memcpy(memory, in, 8 * sizeof(double));
    double sum = 0;
    for (int i = 0; i < n; i++)
      sum += memory[i] * memory[i + 1];
    out = sum;
    std::free(memory);
  }
  return out;
}

static double in_vector(const double *in, int n) {
  double out = -1;
#pragma omp target map(tofrom : out) map(to : in[0 : 8]) firstprivate(n)
  {
    std::vector<double> memory(in, in + 8);
    double sum = 0;
    for (int i = 0; i < n; i++)
      sum += memory[i] * memory[i + 1];
    out = sum;
  }
  return out;
}

#pragma omp begin declare target
template <typename T> __attribute__((noinline)) T of_template(const T *in, int n) {
  T *memory = static_cast<T *>(std::malloc(8 * sizeof(T)));
  std::memcpy(memory, in, 8 * sizeof(T));
  T sum = 0;
  for (int i = 0; i < n; i++)
    sum += memory[i] * memory[i + 1];
  std::free(memory);
  return sum;
}
#pragma omp end declare target

static double in_function(const double *in, int n) {
  double out = -1;
#pragma omp target map(tofrom : out) map(to : in[0 : 8]) firstprivate(n)
  out = of_template(in, n);
  return out;
}

int main(int count, char **) {
  double in[8];
  for (int i = 0; i < 8; i++)
    in[i] = i + 1;
  double first = copied(in, 4 * count), second = in_vector(in, 4 * count), third = in_function(in, 4 * count);
  std::printf("copied %g, vector %g, function %g\n", first, second, third);
}
