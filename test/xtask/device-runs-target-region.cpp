// The stock tools and libomptarget run a target region on the x86_64 device: what every other run-time test builds on.
// REQUIRES: x86_64-device
// RUN: %clangxx -O2 %omp_compile %s -o %t %omp_link
// RUN: %run_offload %t | FileCheck %s
// RUN: env LIBOMPTARGET_INFO=16 OMP_TARGET_OFFLOAD=mandatory %t 2>&1 | FileCheck --check-prefix=LAUNCH %s
#include <cstdio>
#include <omp.h>

int main() {
  int initial_device = 1;
#pragma omp target map(from : initial_device)
  initial_device = omp_is_initial_device();
  // CHECK: devices 4, on the host 0
  // LAUNCH: Launching kernel __omp_offloading_{{.*}}_main_l
  std::printf("devices %d, on the host %d\n", omp_get_num_devices(), initial_device);
}
