// A driver loads no code of a CUDA with a later major version than its own. Of the assemblers that are found, the first one is taken whose code it loads; one
// that the user has named is taken as it is. The virtual GPU's driver is for the CUDA that it is told, and loads all code.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t/later/bin && cd %t
// RUN: sed -e 's|@PTXAS@|%cuda/bin/ptxas|; s|@NOTED@|%t/noted|' %S/Inputs/later-ptxas.sh > later/bin/ptxas && chmod +x later/bin/ptxas
// DEFINE: %{form} = --jit
// DEFINE: %{build} = %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64-nvidia-cuda --offload-arch=sm_80 --cuda-path=%cuda -B %dropin \
// DEFINE:   -Xoffload-linker %{form} %s %gpu_options %omp_link
// DEFINE: %{version} =
// DEFINE: %{named} =
// DEFINE: %{run} = env -u OFFLOOM_JIT_PTXAS LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_VIRTUAL_GPU_CUDA=%{version} CUDA_HOME=%t/later \
// DEFINE:   PATH=%cuda/bin:/usr/bin:/bin OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_LOG=1 %{named}
// RUN: %{build} -o program
//
// The first one, where the driver is late enough.
// REDEFINE: %{version} = 99.1
// RUN: %{run} ./program 2>&1 | FileCheck --check-prefix=RAN %s && rm noted
// RAN: 1 launch ran a variant
//
// The next one, where it is not.
// REDEFINE: %{version} = 98.9
// RUN: %{run} ./program 2>&1 | FileCheck --check-prefix=RAN %s && not test -e noted
//
// In a program whose children end without a word: it may have been started so.
// RUN: %{run} env --ignore-signal=CHLD ./program 2>&1 | FileCheck --check-prefix=RAN %s && not test -e noted
//
// None, where it is earlier than all: one line says so.
// REDEFINE: %{version} = 1.1
// RUN: %{run} ./program 2>&1 | FileCheck --check-prefix=NONE --implicit-check-not='ran a variant' %s && not test -e noted
// NONE: offloom-jit: `{{.*}}later/bin/ptxas` is ptxas 99.0.1, and the driver is for CUDA 1.1, which loads no code of a later major version; install {{.*}} for CUDA 1,
// NONE-SAME: : kernels on NVIDIA GPUs stay ahead of time
// REDEFINE: %{named} = OFFLOOM_JIT_PTXAS=%t/later/bin/ptxas
// RUN: %{run} ./program 2>&1 | FileCheck --check-prefix=RAN %s && rm noted
//
// An image that is made when the program starts is code like that of variants.
// REDEFINE: %{form} = --jit=only
// RUN: %{build} -o only
// REDEFINE: %{named} =
// RUN: %{run} OMP_TARGET_OFFLOAD=DEFAULT ./only 2>&1 | FileCheck --check-prefix=NO-IMAGE %s && not test -e noted
// NO-IMAGE: offloom-jit: the device code of this program for sm_80 has no image: `{{.*}}later/bin/ptxas` is ptxas 99.0.1, and the driver is for CUDA 1.1,
// REDEFINE: %{version} = 98.9
// RUN: %{run} ./only 2>&1 | FileCheck --check-prefix=RAN %s && not test -e noted

int main() {
  int values[200] = {};
#pragma omp target teams distribute parallel for map(tofrom : values)
  for (int i = 0; i < 200; ++i)
    values[i] += 3 * i;
  return values[100] != 300;
}
