// Where libomp gives a launch one team of one thread, variants form none: after the first launches nothing is said to libomp of leagues.
// With more threads they run the ahead-of-time code, which forms leagues; they have no code of their own for that.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link -rdynamic -ldl
// RUN: env OMP_NUM_THREADS=1 OFFLOOM_JIT=off %run_offload ./jit | FileCheck --check-prefix=FORMED %s
// RUN: env OMP_NUM_THREADS=1 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit 2> log | FileCheck --check-prefix=DIRECT %s
// RUN: FileCheck --check-prefix=LOG %s < log
// RUN: grep -raq 'main_l[0-9]*[.]ahead_of_time' %t/cache
// RUN: not grep -raq omp_outlined %t/cache
// RUN: env OMP_NUM_THREADS=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_SPECIALIZE=args OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/args %run_offload ./jit | FileCheck --check-prefix=FORMED %s
// RUN: env OMP_NUM_THREADS=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit more | FileCheck --check-prefix=FORMED %s
// RUN: grep -raq omp_outlined %t/args
// RUN: env OMP_NUM_THREADS=1 OMP_NUM_TEAMS=4 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit 2> teams | FileCheck --check-prefix=FORMED %s
// RUN: FileCheck --check-prefix=TEAMS --implicit-check-not=teams=1 --input-file=teams %s
// TEAMS: compiled in

// FORMED: 100 leagues formed, sum 3283500
// DIRECT: 0 leagues formed, sum 3283500
// LOG: compiled in {{.*}}teams=1{{.*}}threads=1

#include <cstdio>
#include <dlfcn.h>
#include <omp.h>

static int formed;
extern "C" void __kmpc_push_num_teams(void *location, int thread, int teams, int limit) {
  formed++;
  auto next = reinterpret_cast<void (*)(void *, int, int, int)>(dlsym(RTLD_NEXT, "__kmpc_push_num_teams"));
  next(location, thread, teams, limit);
}

int main(int argc, char **) {
  long squares[100];
  int n = 100;
  for (int round = 0; round < 200; ++round) {
    if (round == 100) {
      formed = 0;
      if (argc > 1)
        omp_set_num_threads(2);
    }
#pragma omp target teams distribute parallel for num_teams(1) map(from : squares)
    for (int i = 0; i < n; ++i)
      squares[i] = static_cast<long>(i) * i * 10;
  }
  long sum = 0;
  for (int i = 0; i < n; ++i)
    sum += squares[i];
  std::printf("%d leagues formed, sum %ld\n", formed, sum);
  return 0;
}
