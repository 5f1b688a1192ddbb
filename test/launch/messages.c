// What a person sees: libomptarget names the place where the region was declared and the numbers of teams and threads that were asked
// for; a function that nobody marked is named by the linker.
// REQUIRES: x86_64-device
// RUN: %clang -O2 -shared -fPIC %S/Inputs/kernels.c -o %t.so
// RUN: %clang -DIMAGE='"%t.so"' -c %S/Inputs/entries.c -o %t.entries.o
// RUN: %clang -I%S/../../launch/include %s %t.entries.o -o %t %omp_link -lomptarget
// RUN: env LIBOMPTARGET_INFO=-1 OMP_TARGET_OFFLOAD=mandatory %t 2>&1 | FileCheck %s
// RUN: not %clang -DUNMARKED -I%S/../../launch/include %s %t.entries.o -o %t.unmarked %omp_link -lomptarget 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNMARKED
#include <offloom/launch.h>

#line 100
OFFLOOM_REGION(count_launches);

#ifdef UNMARKED
// UNMARKED: undefined reference to `.__omp_offloading_0_0_nobody_marked_me_l0.region_id'
OFFLOOM_REGION(nobody_marked_me);
const void *unmarked(void) { return OFFLOOM_REGION_OF(nobody_marked_me)->id; }
#endif

int main(void) {
  uint64_t count = 0;
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(count_launches));
  launch.num_teams = 3;
  launch.thread_limit = 2;
  offloom_map_from(&launch, &count, sizeof count);
  // CHECK: Entering OpenMP kernel at {{.*}}messages.c:100:0 with 1 arguments:
  // CHECK: from(&count)[8]
  // The x86_64 device of LLVM 22 says one team of one thread whatever it is asked for, to Clang's launches as well.
  // CHECK: Launching kernel __omp_offloading_0_0_count_launches_l0 with {{3 blocks and 2 threads|\[1,1,1\] blocks and \[1,1,1\] threads}}
  return offloom_launch_run(&launch) != OFFLOOM_SUCCESS || count != 1;
}
