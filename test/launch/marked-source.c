// A marked C source, compiled without OpenMP, through `offload-entries`: the launch by its symbol runs the kernel. (The device image is made
// by hand.)
// REQUIRES: x86_64-device
// RUN: %clang -O2 -shared -fPIC %S/Inputs/kernels.c -o %t.so
// RUN: %clang -DIMAGE='"%t.so"' -DNO_ENTRIES -c %S/Inputs/entries.c -o %t.registration.o
// RUN: %clang -O1 -emit-llvm -I%S/../../launch/include -c %s -o %t.bc
// RUN: %opt -load-pass-plugin %passes -passes='offload-entries,verify,default<O2>' %t.bc -o %t.host.bc
// RUN: %clang %t.host.bc %t.registration.o -o %t %omp_link -lomptarget
// RUN: %run_offload %t | FileCheck %s --check-prefix=DEVICE
// RUN: env OMP_TARGET_OFFLOAD=disabled %t | FileCheck %s --check-prefix=HOST
#include <offloom/launch.h>
#include <stdio.h>

__attribute__((section(".offload.kernel"))) void saxpy(float a, size_t n, const float *x, float *y) {
  for (size_t i = 0; i < n; i++)
    y[i] += a * x[i];
}
OFFLOOM_REGION(saxpy);

int main(void) {
  const float a = 2, x[2] = {1, 2};
  float y[2] = {10, 20};
  const size_t n = 2;
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(saxpy));
  offloom_value(&launch, &a, sizeof a);
  offloom_value(&launch, &n, sizeof n);
  offloom_map_to(&launch, x, sizeof x);
  offloom_map_tofrom(&launch, y, sizeof y);
  const offloom_status status = offloom_launch_run(&launch);
  if (status != OFFLOOM_SUCCESS)
    saxpy(a, n, x, y);
  // DEVICE: 12 24, done
  // HOST: 12 24, not offloaded
  printf("%g %g, %s\n", y[0], y[1], offloom_status_message(status));
}
