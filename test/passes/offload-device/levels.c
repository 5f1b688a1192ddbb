// One Clang command, a source without target constructs: the plugin makes the host's entries and the device's kernel from marks, at
// every level of optimisation, with and without link-time optimisation of device and host, given to both jobs at once or to
// each by itself. (Clang's device jobs drop what is not declare target before any pass runs, so that pragma has to stand around.)
// REQUIRES: x86_64-device
// DEFINE: %{build} = %clang %s -o %t -fpass-plugin=%passes -B %dropin -I%S/../../../launch/include %omp_compile %omp_link -lomptarget
// DEFINE: %{separate} = %clang %s -o %t -Xarch_host -fpass-plugin=%passes -Xarch_device -fpass-plugin=%passes -B %dropin -I%S/../../../launch/include %omp_compile %omp_link -lomptarget
// RUN: %{build} -O0 && %run_offload %t | FileCheck %s
// RUN: %{build} -O0 -foffload-lto && %run_offload %t | FileCheck %s
// RUN: %{build} -O0 -flto -fuse-ld=lld && %run_offload %t | FileCheck %s
// RUN: %{build} -O1 && %run_offload %t | FileCheck %s
// RUN: %{build} -O1 -foffload-lto && %run_offload %t | FileCheck %s
// RUN: %{build} -O1 -flto -fuse-ld=lld && %run_offload %t | FileCheck %s
// RUN: %{build} -O2 && %run_offload %t | FileCheck %s
// RUN: %{build} -O2 -foffload-lto && %run_offload %t | FileCheck %s
// RUN: %{build} -O2 -flto -fuse-ld=lld && %run_offload %t | FileCheck %s
// RUN: %{build} -O3 && %run_offload %t | FileCheck %s
// RUN: %{build} -O3 -foffload-lto && %run_offload %t | FileCheck %s
// RUN: %{build} -O3 -flto -fuse-ld=lld && %run_offload %t | FileCheck %s
// RUN: %{separate} -O2 && %run_offload %t | FileCheck %s
// RUN: %{separate} -O2 -foffload-lto && %run_offload %t | FileCheck %s
// RUN: env OFFLOOM_PASSES=offload-device %{build} -O2 && %run_offload %t | FileCheck %s
// CHECK: 0: 4 7 10 13
// CHECK-NEXT: 0: 13 22 31 40

// Without the plugin there is no kernel to link with.
// RUN: not %clang %s -o %t -O2 -B %dropin -I%S/../../../launch/include %omp_compile %omp_link -lomptarget 2>&1 | FileCheck --check-prefix=WITHOUT %s
// WITHOUT: undefined {{.*}}.__omp_offloading_0_0_scale_l0.region_id
#include <offloom/launch.h>
#include <stdio.h>

#pragma omp begin declare target
__attribute__((annotate("offload:to"))) int factor = 3;

__attribute__((annotate("offload:kernel"))) void scale(int *values, long count) {
  for (long i = 0; i < count; ++i)
    values[i] = values[i] * factor + 1;
}
#pragma omp end declare target

OFFLOOM_REGION(scale);

int main(void) {
  int values[4] = {1, 2, 3, 4};
  const long count = 4;
  for (int round = 0; round < 2; ++round) {
    offloom_launch launch;
    offloom_launch_init(&launch, OFFLOOM_REGION_OF(scale));
    offloom_map_tofrom(&launch, values, sizeof values);
    offloom_value(&launch, &count, sizeof count);
    const offloom_status status = offloom_launch_run(&launch);
    printf("%d: %d %d %d %d\n", status, values[0], values[1], values[2], values[3]);
  }
}
