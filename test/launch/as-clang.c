// A launch by hand calls the runtime as Clang does for the directives that mean the same.
// RUN: %clang -c %S/Inputs/recorder.c -o %t.recorder.o
// RUN: %clang %omp_compile --offload-host-only -fopenmp-version=52 -c %s -o %t.clang.o
// RUN: %clang -I%S/../../launch/include -c %s -o %t.own.o
// RUN: %clang %t.clang.o %t.recorder.o -o %t.clang %omp_link -lomp
// RUN: %clang %t.own.o %t.recorder.o -o %t.own
// RUN: %t.clang > %t.clang.txt
// RUN: %t.own > %t.own.txt
// RUN: diff %t.clang.txt %t.own.txt
// RUN: FileCheck %s < %t.own.txt
#include <stdint.h>

// CHECK: device -1, teams -1, threads 0
// CHECK: type 0x22, 16 bytes, holds 0x2
// CHECK: type 0x23, 16 bytes, holds 0x3
// CHECK: type 0x20, 16 bytes, holds 0x4
// CHECK: type 0x21, 16 bytes, holds 0x1
// CHECK: type 0x120, 4 bytes, value 0xbf800000
// CHECK: type 0x120, 1 bytes, value 0xff
// CHECK: type 0x120, 8 bytes, value 0x1234
// CHECK: device 1, teams 3, threads 2
// CHECK: data begin: device 2, type 0x1,
// CHECK: data update: device 2, type 0x2,
// CHECK: data end: device 2, type 0x2,

static float a = -1;
static signed char b = -1;
static int *p = (int *)0x1234;
static int to[4] = {1}, from[4] = {2}, tofrom[4] = {3}, scratch[4] = {4};

#ifdef _OPENMP
static void launch(void) {
  float value_a = a;
  signed char value_b = b;
  int *value_p = p;
#pragma omp target firstprivate(value_a, value_b) is_device_ptr(value_p) map(to : to) map(from : from) map(tofrom : tofrom)           \
    map(alloc : scratch)
  from[0] = tofrom[0] = scratch[0] = to[0] + (int)value_a + value_b + value_p[0];

#pragma omp target teams num_teams(3) thread_limit(2) device(1) map(tofrom : tofrom)
  tofrom[0]++;
}

static void data(void) {
#pragma omp target enter data device(2) map(to : to)
#pragma omp target update device(2) from(to)
#pragma omp target exit data device(2) map(from : to)
}
#else
#include <offloom/launch.h>

// Nothing runs, so any symbol does.
static const char id = 0;
static const offloom_region region = {&id, {0, 2, 0, 0, ""}};

static void launch(void) {
  offloom_launch launch;
  offloom_launch_init(&launch, &region);
  // In the order of first use above, which is Clang's.
  offloom_map_from(&launch, from, sizeof from);
  offloom_map_tofrom(&launch, tofrom, sizeof tofrom);
  offloom_map_alloc(&launch, scratch, sizeof scratch);
  offloom_map_to(&launch, to, sizeof to);
  offloom_value(&launch, &a, sizeof a);
  offloom_value(&launch, &b, sizeof b);
  offloom_device_pointer(&launch, p);
  offloom_launch_run(&launch);

  offloom_launch_init(&launch, &region);
  launch.device = 1;
  launch.num_teams = 3;
  launch.thread_limit = 2;
  offloom_map_tofrom(&launch, tofrom, sizeof tofrom);
  offloom_launch_run(&launch);
}

static void data(void) {
  offloom_data_begin(2, to, sizeof to, OFFLOOM_TO);
  offloom_data_update(2, to, sizeof to, OFFLOOM_FROM);
  offloom_data_end(2, to, sizeof to, OFFLOOM_FROM);
}
#endif

int main(void) {
  launch();
  data();
}
