// A link with --jit for an NVIDIA GPU: the image is what a link without it makes, and an exported table of addresses. The bundle says what variants
// are compiled with, and how kernels are launched.
// REQUIRES: cuda, device-runtime, gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{options} = -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64 --offload-arch=%gpu_processor --cuda-path=%cuda -B %dropin
// DEFINE: %{link} = %clangxx %{options} a.o %omp_link -Wl,--save-temps %gpu_options
// DEFINE: %{run} = %run_gpu OFFLOOM_VIRTUAL_GPU=%gpu_processor
// RUN: %clangxx %{options} -c %s -o a.o
// RUN: %{link} -o plain
// RUN: %{link} -o jit -Xoffload-linker --jit -Xcuda-ptxas -maxrregcount=64

// RUN: FileCheck --check-prefix=TABLE --input-file=jit.nvptx64-nvidia-cuda.%gpu_processor.lto.s %s
// TABLE: .visible .global .align 8 .u64 __offloom_jit_image[7] = {5137849951900288591, 1, {{[0-9]+}}, {{[0-9]+}}, 2, generic({{counter|_ZL5calls}}), generic({{counter|_ZL5calls}})};
// The rest is the same; variables of the device runtime come in another order.
// RUN: sed -e /__offloom_jit_image/d jit.nvptx64-nvidia-cuda.%gpu_processor.lto.s | sort > jit.sorted
// RUN: sort plain.nvptx64-nvidia-cuda.%gpu_processor.lto.s | diff - jit.sorted
// RUN: sed -n -e /entry/,//p jit.nvptx64-nvidia-cuda.%gpu_processor.lto.s > jit.kernels
// RUN: sed -n -e /entry/,//p plain.nvptx64-nvidia-cuda.%gpu_processor.lto.s | diff - jit.kernels

// RUN: python3 %S/../jit/Inputs/bundle_bitcode.py jit.nvptx64-nvidia-cuda.%gpu_processor.jit variant.bc matched.bc runtime.bc \
// RUN:   | FileCheck --check-prefixes=BUNDLE,%if llvm-23 %{LAST%} %else %{FIRST%} %s
// BUNDLE: bundle for LLVM {{[0-9]+}}, -O2, nvptx64-nvidia-cuda
// BUNDLE: kernel {{.*}}scale
// FIRST-NEXT: parameter 0: launch environment
// BUNDLE-NEXT: parameter {{[01]}}: scalar, 4 bytes
// BUNDLE-NEXT: parameter {{[12]}}: pointer, 8 bytes, uses 0x0, 0 bytes of contents
// BUNDLE-NEXT: parameter {{[23]}}: pointer
// BUNDLE-NEXT: parameter {{[34]}}: scalar, 8 bytes
// LAST-NEXT: parameter 4: launch environment
// FIRST-NEXT: launch: SPMD, threads and teams [1, 96, 7, 7], thread_limit 96, num_teams 7, reduction of 8 bytes for 1024 teams
// LAST-NEXT: launch: SPMD, threads and teams [1, 96, 7, 7], thread_limit 96, num_teams 7, reduction of 8 bytes for 0 teams
// BUNDLE: kernel {{.*}}count
// BUNDLE: launch: generic
// BUNDLE: anchor __offloom_anchor_0
// BUNDLE-NEXT: anchor __offloom_anchor_1
// BUNDLE-NEXT: left ahead of time {{.*}}call{{.*}}: `{{.*}}` calls through a pointer, which may lead into the base image
// BUNDLE-NEXT: processor sm_{{[0-9a]+}} +ptx
// BUNDLE-NEXT: assembler -maxrregcount=64
// Its function for parallel regions has arms for the numbers of arguments that those of the program have, of 65, unless another one calls it, as
// in the runtime of another LLVM.
// RUN: %llvm_bin/opt -passes=verify -S runtime.bc -o - | FileCheck --check-prefix=RUNTIME --implicit-check-not='@__kmpc_omp_task(' \
// RUN:   %if own-device-runtime %{ --implicit-check-not='i64 64, label' %} %s
// RUNTIME: define {{.*}}@__kmpc_target_init(
// RUNTIME: define {{.*}}@__kmpc_parallel_51(
// RUNTIME: switch i64 {{.*}} [
// RUNTIME-NEXT: i64 {{[0-9]+}}, label
// RUN: %llvm_bin/opt -passes=verify -S variant.bc -o - | FileCheck --check-prefix=VARIANT --implicit-check-not=@counter --implicit-check-not='define {{.*}}call' %s
// VARIANT-DAG: @__offloom_anchor_0 = external {{.*}}global i32
// VARIANT-DAG: @__offloom_anchor_1 = external {{.*}}global i32
// VARIANT-DAG: @_ZL5table = internal constant

// The program does what it does without, whether or not there is a JIT.
// RUN: %{run} ./plain > expected.txt
// RUN: %{run} OFFLOOM_JIT=off ./jit | diff expected.txt -
// RUN: %{run} ./jit | diff expected.txt -
// RUN: FileCheck --check-prefix=PRINTED --input-file=expected.txt %s
// PRINTED: 16 100 10

// Objects without bitcode have nothing for the JIT, which is told.
// RUN: %clangxx %{options} -fno-offload-lto %gpu_options -c %s -o native.o
// RUN: %clangxx %{options} native.o %omp_link -o native -Xoffload-linker --jit 2>&1 | FileCheck --check-prefix=NATIVE %s
// NATIVE: warning: --jit has no device bitcode to work on for nvptx64-nvidia-cuda: compile with -foffload-lto
// RUN: %{run} ./native | diff expected.txt -

#include <cstdio>

#pragma omp begin declare target
int counter = 3;
static int calls = 0;
static const double table[4] = {1, 2, 3, 4};
int (*chosen)(int);
#pragma omp end declare target

double scale(double *x, int n, double a) {
  double sum = 0;
#pragma omp target teams distribute parallel for num_teams(7) thread_limit(96) map(tofrom : x[0 : n]) reduction(+ : sum)
  for (int i = 0; i < n; ++i)
    sum += x[i] * a + table[i & 3];
  return sum;
}

void count(double *x, int n) {
#pragma omp target map(tofrom : x[0 : n])
  {
    counter += n;
    calls++;
#pragma omp parallel for
    for (int i = 0; i < n; ++i)
      x[i] = counter + calls;
  }
}

int call(int value) {
#pragma omp target map(tofrom : value)
  if (chosen)
    value = chosen(value);
  return value;
}

int main() {
  double x[10] = {};
  double sum = scale(x, 4, 0.5) + scale(x, 3, 0.5);
  for (int i = 0; i < 3; ++i)
    count(x, 10);
#pragma omp target update from(counter)
  printf("%g %g %d\n", sum, x[9] + 64, call(10));
}
