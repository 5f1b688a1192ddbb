// A C program without any OpenMP of Clang's: kernels and variables are marked by annotations, launched by launch.h. The same source is
// compiled for the host and for the device, through our passes and our linker wrapper, and runs on the x86_64 device.
// REQUIRES: x86_64-device
// RUN: %clang -O1 -Xclang -disable-llvm-passes -fPIC -I%S/../../../launch/include -emit-llvm -c %s -o %t.bc
// RUN: %opt -load-pass-plugin %passes -passes='offload-host,verify,default<O2>' %t.bc -o %t.host.bc
// RUN: %opt -load-pass-plugin %passes -passes='offload-device-module<host-ir=%t.host.bc>,verify,default<O2>' %t.bc -o %t.device.bc
// RUN: %clang -O2 -fPIC -c %t.device.bc -o %t.device.o
// RUN: %wrapgen pack -o %t.images --image=file=%t.device.o,triple=x86_64-pc-linux-gnu,kind=openmp
// RUN: %clang -O2 -c %t.host.bc -Xclang -fembed-offload-object=%t.images -o %t.o
// RUN: %clang -B %dropin --offload-link %t.o -o %t %omp_link -lomptarget
// RUN: %run_offload %t | FileCheck %s --check-prefixes=ANY,DEVICE
// RUN: env OMP_TARGET_OFFLOAD=disabled %t | FileCheck %s --check-prefixes=ANY,HOST
// The device image exports what the host lists and nothing else.
// RUN: %wrapgen inspect %t.o | FileCheck %s --check-prefix=IMAGE
// RUN: %llvm_bin/llvm-nm --defined-only --extern-only --format=just-symbols %t.device.o | sort | FileCheck %s --check-prefix=SYMBOLS
#include <offloom/launch.h>
#include <stdbool.h>
#include <stdio.h>

// IMAGE: x86_64-pc-linux-gnu
// SYMBOLS-DAG: {{^}}__omp_offloading_0_0_scale_l0{{$}}
// SYMBOLS-DAG: {{^}}__omp_offloading_0_0_mixed_l0{{$}}
// SYMBOLS-DAG: {{^}}factor{{$}}
// SYMBOLS-DAG: {{^}}table_decl_tgt_ref_ptr{{$}}
// SYMBOLS-NOT: main

int factor __attribute__((annotate("offload:to"))) = 3;
int table[4] __attribute__((annotate("offload:link"))) = {1, 2, 3, 4};
static int calls;

static double helper(double x, bool add) {
  calls++;
  return add ? x + factor : x;
}

__attribute__((annotate("offload:kernel"))) void scale(float a, size_t n, const float *x, double *y) {
  for (size_t i = 0; i < n; i++)
    y[i] += a * x[i] * factor + table[i];
}

// Every kind of parameter, and a static variable that each side has its own of.
__attribute__((annotate("offload:kernel"))) void mixed(bool add, signed char c, unsigned short s, int i, long l, float f, double d,
                                                       double *result) {
  result[0] = helper(c + s + i + l + f + d, add);
  result[1] = calls;
  table[0] = 100;
}

OFFLOOM_REGION(scale);
OFFLOOM_REGION(mixed);
OFFLOOM_LINK(table);

int main(void) {
  const float a = 2, x[4] = {1, 2, 3, 4};
  double y[4] = {10, 20, 30, 40}, result[2] = {0, 0};
  const size_t n = 4;
  calls = 10;
  // The device's copy of `factor` keeps 3 until it is updated.
  factor = 3;
  offloom_link_begin(OFFLOOM_DEFAULT_DEVICE, OFFLOOM_LINK_OF(table), sizeof table, OFFLOOM_TOFROM);

  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(scale));
  offloom_value(&launch, &a, sizeof a);
  offloom_value(&launch, &n, sizeof n);
  offloom_map_to(&launch, x, sizeof x);
  offloom_map_tofrom(&launch, y, sizeof y);
  offloom_status status = offloom_launch_run(&launch);
  if (status != OFFLOOM_SUCCESS)
    scale(a, n, x, y);
  // ANY: 17 34 51 68
  printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);

  const bool add = true;
  const signed char c = -1;
  const unsigned short s = 65535;
  const int i = -2;
  const long l = -3;
  const float f = 0.5f;
  const double d = 0.25;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(mixed));
  offloom_value(&launch, &add, sizeof add);
  offloom_value(&launch, &c, sizeof c);
  offloom_value(&launch, &s, sizeof s);
  offloom_value(&launch, &i, sizeof i);
  offloom_value(&launch, &l, sizeof l);
  offloom_value(&launch, &f, sizeof f);
  offloom_value(&launch, &d, sizeof d);
  offloom_map_from(&launch, result, sizeof result);
  status = offloom_launch_run(&launch);
  if (status != OFFLOOM_SUCCESS)
    mixed(add, c, s, i, l, f, d, result);
  offloom_link_end(OFFLOOM_DEFAULT_DEVICE, OFFLOOM_LINK_OF(table), sizeof table, OFFLOOM_TOFROM);
  // DEVICE: 65532.75, call 1, table 100, done
  // HOST: 65532.75, call 11, table 100, not offloaded
  printf("%.2f, call %g, table %d, %s\n", result[0], result[1], table[0], offloom_status_message(status));
}
