// Linked with --jit=only, a program holds bitcode and no image for GPUs. When it starts, an image is made for each architecture that is there, once: later
// starts take it from the cache. From there on all is as with --jit.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t && split-file %S/Inputs/image-assemblers.test assemblers && chmod +x assemblers/crash assemblers/newer
// DEFINE: %{options} = -O2 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda --cuda-path=%cuda
// DEFINE: %{only} = %clangxx %{options} -foffload-lto -B %dropin -Xoffload-linker --jit=only %s %gpu_options %omp_link
// DEFINE: %{environment} = LD_LIBRARY_PATH=%virtual_gpu OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas
// DEFINE: %{run} = env %{environment} OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_JIT_STRICT=1
// RUN: %clangxx %{options} --offload-arch=sm_80,sm_90 %s -o stock %omp_link %gpu_options
// RUN: %{only} --offload-arch=sm_80 -o only
// RUN: %wrapgen inspect only | FileCheck --check-prefix=HELD --implicit-check-not=object %s
// HELD: bitcode{{.*}}sm_80 {{.*}} 4 

// One program, two architectures at once, and each alone.
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_80,sm_90 ./stock > stock.out
// RUN: FileCheck --check-prefix=PRINTED --input-file=stock.out %s
// PRINTED: device 0: counted 20, right
// PRINTED: device 1: counted 20, right
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_80,sm_90 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1 ./only 2> cold.log | diff stock.out -
// RUN: FileCheck --check-prefixes=COLD,RAN --input-file=cold.log %s
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_80,sm_90 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1 ./only 2> warm.log | diff stock.out -
// RUN: FileCheck --check-prefixes=WARM,RAN --input-file=warm.log %s
// COLD-DAG: the image of this program for sm_80 was compiled in
// COLD-DAG: the image of this program for sm_90 was compiled in
// WARM: the image of this program for sm_80 is in the cache
// WARM: the image of this program for sm_90 is in the cache
// RAN-DAG: is on device 0, sm_80: 4 of its 4 kernels may have variants
// RAN-DAG: is on device 1, sm_90: 4 of its 4 kernels may have variants
// Copies of each image are counted apart.
// RAN: addPdiii{{.*}}: image copy 0: 20 launches ran a variant
// RAN: addPdiii{{.*}}: image copy 0: 20 launches ran a variant
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_80,sm_90 OFFLOOM_JIT=off ./only 2>&1 | diff stock.out -
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_80,sm_90 ./only 2>&1 | diff stock.out -
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_90 OFFLOOM_JIT_LOG=1 ./only 2> alone.log | FileCheck --check-prefix=ALONE %s
// RUN: FileCheck --check-prefix=ALONE-LOG --implicit-check-not=sm_80 --input-file=alone.log %s
// ALONE: device 0: counted 20, right
// ALONE-NOT: device
// ALONE-LOG: the image of this program for sm_90 is in the cache
// Nearly the same architecture twice.
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_80,sm_86 ./only 2>&1 | diff stock.out -

// Of code for several architectures, that for the latest one that a device has. The host's device has an image too.
// RUN: %{only} -fopenmp-targets=x86_64-pc-linux-gnu,nvptx64-nvidia-cuda -Xopenmp-target=nvptx64-nvidia-cuda --offload-arch=sm_80,sm_90 -o several
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_80,sm_90 OFFLOOM_JIT_LOG=1 ./several 2> several.log | diff stock.out -
// RUN: FileCheck --check-prefix=SEVERAL --input-file=several.log %s
// SEVERAL: the image of this program was compiled in
// SEVERAL: the image of this program for sm_80 is in the cache
// SEVERAL: the image of this program for sm_90 was compiled in
// RUN: env LD_LIBRARY_PATH= OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./several host | FileCheck --check-prefix=DEVICE %s
// DEVICE: on a device

// What there is to be done without: an assembler, a GPU that the code runs on, the library. One line says so, and OMP_TARGET_OFFLOAD decides what happens.
// RUN: env %{environment} OFFLOOM_JIT_PTXAS=/nonexistent ./only host 2>&1 | FileCheck --check-prefix=PTXAS --implicit-check-not='{{.}}' %s
// PTXAS-DAG: offloom-jit: the device code of this program for sm_80 has no image: OFFLOOM_JIT_PTXAS names `/nonexistent`, which is no program that can be run
// PTXAS-DAG: on the host
// RUN: not --crash env %{environment} OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_JIT_PTXAS=/nonexistent ./only host 2>&1 | FileCheck --check-prefix=MANDATORY %s
// MANDATORY: offloom-jit: the device code of this program for sm_80 has no image
// MANDATORY: omptarget error
// RUN: env %{environment} OFFLOOM_VIRTUAL_GPU=sm_75 ./only host 2>&1 | FileCheck --check-prefix=EARLIER --implicit-check-not='{{.}}' %s
// EARLIER-DAG: offloom-jit: this program was linked for sm_80 and cannot be compiled for sm_75, which is here: link it for the earliest GPU that it is to run on
// EARLIER-DAG: on the host
// RUN: env %{environment} OFFLOOM_JIT_LIBRARY=%t/absent.so ./only host 2>&1 | FileCheck --check-prefix=ABSENT --implicit-check-not='{{.}}' %s
// ABSENT-DAG: offloom-jit: only was linked with --jit=only and holds device code that is of no use without liboffloom_jit.so ({{.*}}absent.so{{.*}}
// ABSENT-DAG: on the host
// RUN: env %{environment} OFFLOOM_VIRTUAL_GPU=none ./only host 2>&1 | FileCheck --check-prefix=NO-GPU --implicit-check-not='{{.}}' %s
// RUN: env LD_LIBRARY_PATH=%t ./only host 2>&1 | FileCheck --check-prefix=NO-GPU --implicit-check-not='{{.}}' %s
// NO-GPU: on the host

// Assemblers that crash, or that write what this libomptarget does not take. That somebody ended one is not remembered.
// RUN: env %{environment} OFFLOOM_JIT_PTXAS=%t/assemblers/crash OFFLOOM_JIT_CACHE_DIR=%t/crashed ./only host 2>&1 | FileCheck --check-prefix=CRASH --implicit-check-not='{{.}}' %s
// CRASH-DAG: offloom-jit: the device code of this program for sm_80 has no image: the assembler '{{.*}}/crash' was ended by signal 11
// CRASH-DAG: on the host
// RUN: %if llvm-19 %{ env %{environment} OFFLOOM_JIT_PTXAS=%t/assemblers/newer ./only host 2>&1 | FileCheck --check-prefix=NEWER --implicit-check-not='{{.}}' %s %}
// NEWER-DAG: offloom-jit: the device code of this program for sm_80 has no image: cubins of the assembler '{{.*}}/newer' have the ABI version 8, and libomptarget of LLVM 19 knows versions up to 7: OFFLOOM_JIT_PTXAS names another one, of CUDA 12
// NEWER-DAG: on the host

// A variable that the host program alone has. The assembler and the driver say nothing that helps.
// RUN: echo 'int missing;' > missing.cpp && %{only} -DMISSING missing.cpp --offload-arch=sm_80 -o missing
// RUN: env %{environment} ./missing host 2>&1 | FileCheck --check-prefix=MISSING --implicit-check-not='{{.}}' %s
// MISSING-DAG: offloom-jit: the device code of this program for sm_80 has no image: no device code defines the variable `missing`: `declare target`
// MISSING-DAG: on the host
#include <cmath>
#include <cstdio>
#include <omp.h>
#include <vector>

#pragma omp begin declare target
static int launches = 0;
#ifdef MISSING
extern int missing;
#else
static int missing = 0;
#endif
int offset = 1;
static const double weights[4] = {0.5, 1, 1.5, 2};
#pragma omp end declare target

static void add(double *values, int count, int step, int device) {
#pragma omp target teams distribute parallel for device(device) map(tofrom : values[ : count])
  for (int i = 0; i < count; ++i) {
    if (i == 0)
      ++launches;
    for (int j = 0; j < step; ++j)
      values[i] += i;
  }
}

int main(int count, char **) {
  if (count > 1) {
    int host = 0;
#pragma omp target map(from : host)
    host = omp_is_initial_device() + missing;
    std::puts(host ? "on the host" : "on a device");
    return 0;
  }
  for (int device = 0; device < (omp_get_num_devices() < 2 ? 1 : 2); ++device) {
    std::vector<double> storage(500);
    double *values = storage.data();
    for (int time = 0; time < 20; ++time)
      add(values, 500, 3, device);
    bool is_right = true;
    for (int i = 0; i < 500; ++i)
      is_right = is_right && values[i] == 60.0 * i;
    int counted = 0;
    // In generic mode, with a parallel region.
#pragma omp target device(device) map(from : counted) map(tofrom : values[ : 500])
    {
      counted = launches;
      offset += 2;
#pragma omp parallel for
      for (int i = 0; i < 500; ++i)
        values[i] = std::sqrt(values[i]) * weights[i & 3] + offset;
    }
    double sum = 0;
#pragma omp target teams distribute parallel for device(device) reduction(+ : sum) map(to : values[ : 500])
    for (int i = 0; i < 500; ++i)
      sum += std::exp(-values[i]) + values[i];
    std::printf("device %d: counted %d, %s, %.17g\n", device, counted, is_right ? "right" : "wrong", sum);
  }
}
