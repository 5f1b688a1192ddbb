// Debian 13's C library defines a type for the host by a machine mode that Clang 19 has not for NVIDIA GPUs. The configuration files have device code for
// those, and no other, go without that header. The header here stands in for the library's.
// REQUIRES: llvm-19, cuda
// RUN: rm -rf %t && mkdir -p %t/bits && cd %t
// RUN: echo '#ifndef _BITS_FLOATN_H' > bits/floatn.h
// RUN: echo 'typedef _Complex float pair __attribute__((__mode__(__TC__)));' >> bits/floatn.h
// RUN: echo '#endif' >> bits/floatn.h
// DEFINE: %{compile} = %clangxx -Wall -Werror -isystem . -fopenmp -nogpulib -c %s -o out.o
// RUN: not %{compile} --offload-arch=sm_80 --cuda-path=%cuda 2>&1 | FileCheck %s
// CHECK: error: unsupported machine mode '__TC__'
// RUN: %{compile} --config=%dist/share/offloom/offloom.cfg --offload-arch=sm_80 --cuda-path=%cuda
// RUN: %{compile} --config=%dist/share/offloom/offloom-jit.cfg --offload-arch=sm_80 --cuda-path=%cuda
// RUN: %{compile} --config=%dist/share/offloom/offloom.cfg -fopenmp-targets=x86_64-pc-linux-gnu -DNEEDS_TYPE
// RUN: %{compile} --config=%dist/share/offloom/offloom.cfg -DNEEDS_TYPE
#include <bits/floatn.h>

#ifdef NEEDS_TYPE
pair both;
#endif

int main() {
  int x = 0;
#pragma omp target map(tofrom : x)
  x = 1;
  return x - 1;
}
