// An inline function that two files mark: each has an entry, the device image holds one kernel, and either file launches it. Static
// variables of one name in both files have metadata and no entry.
// REQUIRES: x86_64-device
// RUN: %clangxx -O1 -Xclang -disable-llvm-passes -fPIC -DFIRST -I%S/../../../launch/include -emit-llvm -c %s -o %t.1.bc
// RUN: %clangxx -O1 -Xclang -disable-llvm-passes -fPIC -I%S/../../../launch/include -emit-llvm -c %s -o %t.2.bc
// RUN: %opt -load-pass-plugin %passes -passes='offload-host,verify,default<O2>' %t.1.bc -o %t.1.host.bc
// RUN: %opt -load-pass-plugin %passes -passes='offload-host,verify,default<O2>' %t.2.bc -o %t.2.host.bc
// RUN: %llvm_bin/llvm-dis %t.1.host.bc -o - | FileCheck %s --check-prefix=HOST
// RUN: %llvm_bin/llvm-dis %t.2.host.bc -o - | FileCheck %s --check-prefix=HOST
// RUN: %opt -load-pass-plugin %passes -passes='offload-device-module<host-ir=%t.1.host.bc>,verify,default<O2>' %t.1.bc -o %t.1.device.bc
// RUN: %opt -load-pass-plugin %passes -passes='offload-device-module<host-ir=%t.2.host.bc>,verify,default<O2>' %t.2.bc -o %t.2.device.bc
// RUN: %clang -O2 -fPIC -c %t.1.device.bc -o %t.1.device.o
// RUN: %clang -O2 -fPIC -c %t.2.device.bc -o %t.2.device.o
// RUN: %wrapgen pack -o %t.1.images --image=file=%t.1.device.o,triple=x86_64-pc-linux-gnu,kind=openmp
// RUN: %wrapgen pack -o %t.2.images --image=file=%t.2.device.o,triple=x86_64-pc-linux-gnu,kind=openmp
// RUN: %clang -O2 -c %t.1.host.bc -Xclang -fembed-offload-object=%t.1.images -o %t.1.o
// RUN: %clang -O2 -c %t.2.host.bc -Xclang -fembed-offload-object=%t.2.images -o %t.2.o
// RUN: %clang -B %dropin --offload-link %t.1.o %t.2.o -o %t %omp_link -lomptarget
// RUN: %run_offload %t | FileCheck %s
#include <cstdio>
#include <offloom/launch.h>

// HOST-NOT: @.offloading.entry.{{.*}}amount
// HOST: @.offloading.entry.__omp_offloading_0_0_add_l0 = weak {{.*}}@.__omp_offloading_0_0_add_l0.region_id
// HOST-NOT: @.offloading.entry.{{.*}}amount
// HOST-DAG: = !{i32 1, !"{{.*}}amount", i32 0, i32 {{[01]}}}
// HOST-DAG: = !{i32 0, i32 0, i32 0, !"add", i32 0, i32 0, i32 {{[01]}}}
__attribute__((annotate("offload:to"), used)) static int amount = 5;

extern "C" __attribute__((annotate("offload:kernel"), used)) inline void add(int *sum) { *sum += 7; }

OFFLOOM_REGION(add);

static int launch(int *sum) {
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(add));
  offloom_map_tofrom(&launch, sum, sizeof *sum);
  return offloom_launch_run(&launch);
}

#if FIRST
int launch_in_second(int *sum);

int main() {
  int sum = 1;
  const int first = launch(&sum), second = launch_in_second(&sum);
  // CHECK: 0 0 15
  std::printf("%d %d %d\n", first, second, sum);
}
#else
int launch_in_second(int *sum) { return launch(sum); }
#endif
