// Programs for an AMD GPU, linked by LLVM's tools and by ours, run through LLVM's unchanged libomptarget: what it loads and launches is
// right. Nothing is executed: kernels leave the data as it is, and the copies between host and device are real.
// REQUIRES: own-device-runtime, llvm-19
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %clang -O2 -fopenmp -fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target -march=gfx90a -nogpulib %s -o stock %omp_link -lomptarget.devicertl
// RUN: env OFFLOOM_VIRTUAL_HSA_LOG=stock.log %run_hsa ./stock | FileCheck %s
// RUN: FileCheck --check-prefix=LOG --input-file=stock.log %s
// RUN: %clang -B %dropin -O2 -fopenmp -fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target -march=gfx90a -nogpulib %s -o ours %omp_link -lomptarget.devicertl
// RUN: env OFFLOOM_VIRTUAL_HSA_LOG=ours.log %run_hsa ./ours | FileCheck %s
// RUN: FileCheck --check-prefix=LOG --input-file=ours.log %s

// Two devices, of which each gets the image; and another processor.
// RUN: env OFFLOOM_VIRTUAL_HSA=gfx90a,gfx90a:xnack+ OFFLOOM_VIRTUAL_HSA_LOG=two.log %run_hsa ./stock | FileCheck --check-prefix=TWO %s
// RUN: FileCheck --check-prefix=TWO-LOG --input-file=two.log %s
// RUN: %clang -O2 -fopenmp -fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target -march=gfx1030 -nogpulib %s -o gfx1030 %omp_link -lomptarget.devicertl
// RUN: env OFFLOOM_VIRTUAL_HSA=gfx1030 OFFLOOM_VIRTUAL_HSA_LOG=gfx1030.log %run_hsa ./gfx1030 | FileCheck %s
// RUN: FileCheck --check-prefix=LOG --input-file=gfx1030.log %s

// No device, or none that takes the image.
// RUN: env OFFLOOM_VIRTUAL_HSA=none %run_hsa not --crash ./stock
// RUN: env OFFLOOM_VIRTUAL_HSA=gfx1030 %run_hsa not --crash ./stock
// RUN: env OFFLOOM_VIRTUAL_HSA=gfx1 %run_hsa not --crash ./stock 2>&1 | FileCheck --check-prefix=SETTING %s
// SETTING: virtual HSA: OFFLOOM_VIRTUAL_HSA=gfx1: expected `none` or devices as in `gfx90a,gfx90a:xnack+,gfx1030`
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#pragma omp declare target
int factor = 3;
#pragma omp end declare target

int main(void) {
  // Larger than 1 MiB, which libomptarget copies in another way than what is smaller.
  int count = 1 << 19, devices = omp_get_num_devices();
  double *large = malloc(count * sizeof(double));
  int small[100];
  for (int i = 0; i < count; ++i)
    large[i] = i;
  for (int i = 0; i < 100; ++i)
    small[i] = i;

  // LOG: queue: id=0 agent=gfx{{.*}} size=512 plain
  // LOG: image: number=0 agent=gfx{{.*}} kernels=3 hash=[[HASH:[0-9a-f]+]] executable=[[EXECUTABLE:.*]]
  // LOG: kernel: __omp_offloading_{{.*}}_main_l[[#@LINE+2]] queue=0 grid=384x1x1 workgroup=128x1x1 private={{[0-9]+}} group={{[0-9]+}} kernarg=288 explicit=ffffffffffffffff
  // LOG-SAME: image=0 hash=[[HASH]] executable=[[EXECUTABLE]]
#pragma omp target teams distribute parallel for map(tofrom : large[0 : count], small) num_teams(3) thread_limit(128)
  for (int i = 0; i < count; ++i)
    large[i] += small[i % 100];

  // The number 7 is the first argument behind the pointer to the launch's environment, in a word of its own.
  volatile int unknown = 7;
  int number = unknown, result = 5;
  // LOG: kernel: __omp_offloading_{{.*}}_main_l[[#@LINE+1]] {{.*}} explicit=ffffffffffffffff{{[0-9a-f]+}}0700000000000000 {{.*}}
#pragma omp target map(tofrom : result)
  result = number * factor;

  // Regions that wait for one another, on all devices.
  // LOG-COUNT-8: kernel: __omp_offloading_{{.*}}_main_l[[#@LINE+3]]
  for (int i = 0; i < 8; ++i) {
    int device = i % devices;
#pragma omp target nowait depend(inout : small) map(tofrom : small) device(device)
    small[i] += 1;
  }
#pragma omp taskwait

  double sum = 0;
  for (int i = 0; i < count; ++i)
    sum += large[i];
  factor = 0;
#pragma omp target update from(factor)
  // Nothing was executed, so all of it is as it was; the device's copy of `factor` is the program's from before.
  // CHECK: 1 devices, sum 137438691328, result 5, small 7, factor 3
  // TWO: 2 devices, sum 137438691328, result 5, small 7, factor 3
  printf("%d devices, sum %.0f, result %d, small %d, factor %d\n", devices, sum, result, small[7], factor);
  free(large);
}

// The device's heap is never freed by libomptarget.
// LOG: left: an allocation of 536870912 bytes
// LOG-NEXT: summary: packets={{[0-9]+}} kernels=10 faults=0 left: signals=0 allocations=1 locks=0 executables=0 queues=0
// TWO-LOG-DAG: image: number=0 agent=gfx90a:sramecc+:xnack- {{.*}}
// TWO-LOG-DAG: image: number=1 agent=gfx90a:sramecc+:xnack+ {{.*}}
// TWO-LOG-COUNT-4: _main_l[[#]] {{.*}} image=1
// TWO-LOG: summary: packets={{[0-9]+}} kernels=10 faults=0 left: signals=0 allocations=2 locks=0 executables=0 queues=0
