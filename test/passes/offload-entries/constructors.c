// What libomptarget does with entries marked as constructors and destructors (flags 2 and 4): nothing by itself. The releases that ran them
// when they loaded and unloaded an image ended with LLVM 17; to the runtimes of LLVM 19 and 22 they are kernels like others, which a program
// can launch. What must run when an image is loaded is in `llvm.global_ctors`.
// REQUIRES: x86_64-device
// RUN: %clang -O1 -Xclang -disable-llvm-passes -fPIC -I%S/../../../launch/include -emit-llvm -c %s -o %t.bc
// RUN: %opt -load-pass-plugin %passes -passes='offload-host,verify,default<O2>' %t.bc -o %t.host.bc
// RUN: %opt -load-pass-plugin %passes -passes='offload-device-module<host-ir=%t.host.bc>,verify,default<O2>' %t.bc -o %t.device.bc
// RUN: %clang -O2 -fPIC -c %t.device.bc -o %t.device.o
// RUN: %wrapgen pack -o %t.images --image=file=%t.device.o,triple=x86_64-pc-linux-gnu,kind=openmp
// RUN: %clang -O2 -c %t.host.bc -Xclang -fembed-offload-object=%t.images -o %t.o
// RUN: %clang -B %dropin --offload-link %t.o -o %t %omp_link -lomptarget
// RUN: %run_offload %t > %t.out
// RUN: FileCheck %s < %t.out
#include <offloom/launch.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((annotate("offload:to"))) int constructed = 0;

__attribute__((annotate("offload:ctor"))) void construct(void) { constructed++; }

// The device of this test is the same process, so that a destructor could be heard.
__attribute__((annotate("offload:dtor"))) void destroy(void) { write(1, "destroyed\n", 10); }

__attribute__((annotate("offload:kernel"))) void read_count(int *count) { *count = constructed; }

OFFLOOM_REGION(construct);
OFFLOOM_REGION(destroy);
OFFLOOM_REGION(read_count);

static int run(const offloom_region *region) {
  offloom_launch launch;
  offloom_launch_init(&launch, region);
  return offloom_launch_run(&launch);
}

static int count(void) {
  int count = -1;
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(read_count));
  offloom_map_from(&launch, &count, sizeof count);
  return offloom_launch_run(&launch) == OFFLOOM_SUCCESS ? count : -1;
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  // CHECK: loaded: 0
  printf("loaded: %d\n", count());
  // CHECK-NEXT: launch: 0, count 1
  int status = run(OFFLOOM_REGION_OF(construct));
  printf("launch: %d, count %d\n", status, count());
  // CHECK-NEXT: {{^}}destroyed
  // CHECK-NEXT: launch: 0
  status = run(OFFLOOM_REGION_OF(destroy));
  printf("launch: %d\n", status);
  // CHECK-NOT: destroyed
}
