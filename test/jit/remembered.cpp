// What launches took is remembered with the object: where a variant was clearly slower, the next start runs the ahead-of-time code from
// the first launch on; where it was clearly faster, it is not timed again. After a day it is.
// REQUIRES: x86_64-device
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_STATS=stats OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: %{run} %run_offload ./jit 2> timed | FileCheck --check-prefix=OUTPUT %s
// RUN: FileCheck --check-prefix=TIMED --input-file=timed %s
// OUTPUT: done: 0
// TIMED-DAG: {{faster.*}}: a variant is kept
// TIMED-DAG: {{slower.*}}: a variant is retired

// RUN: %{run} %run_offload ./jit 2> remembered | FileCheck --check-prefix=OUTPUT %s
// RUN: FileCheck --check-prefix=REMEMBERED --implicit-check-not='a variant is' --implicit-check-not='{{slower.*}}linked' --input-file=remembered %s
// REMEMBERED: {{faster.*}}: found in the cache
// REMEMBERED: {{faster.*}}: linked
// REMEMBERED: {{faster.*}}: a variant was faster lately: it is not timed again
// REMEMBERED: {{slower.*}}: found in the cache
// REMEMBERED: {{slower.*}}: a variant was slower lately: it is not used
// REMEMBERED: {{faster.*}}: 10 launches ran a variant
// RUN: python3 %S/Inputs/stats.py stats | FileCheck --check-prefix=STATS %s
// STATS: l[[#]]: 0 ahead of time, 10 of variants
// STATS: copy 0: kept
// STATS: l[[#]]: 10 ahead of time, 0 of variants
// STATS: copy 0: retired
// RUN: env OFFLOOM_JIT_CACHE_DIR=%t/cache %offloom cache list | FileCheck --check-prefix=LIST %s
// LIST-COUNT-2: ms, ahead of time

// Who wants no launch timed wants no times remembered either.
// RUN: env OFFLOOM_JIT_RETIRE=0 %{run} %run_offload ./jit 2> all | FileCheck --check-prefix=OUTPUT %s
// RUN: FileCheck --check-prefix=ALL --implicit-check-not='a variant is' --implicit-check-not=lately --input-file=all %s
// ALL-DAG: {{faster.*}}: 10 launches ran a variant
// ALL-DAG: {{slower.*}}: 10 launches ran a variant

// RUN: find cache/v2 -type f -exec touch -d '25 hours ago' {} +
// RUN: %{run} %run_offload ./jit 2> timed | FileCheck --check-prefix=OUTPUT %s
// RUN: FileCheck --check-prefix=TIMED --implicit-check-not='compiled in' --input-file=timed %s

// Beside the program, a launch waits for a variant that saves more of it than a link takes, if the cache has it.
// DEFINE: %{long} = env OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/long
// RUN: env OFFLOOM_JIT=sync %{long} %run_offload ./jit long 2> timed | FileCheck --check-prefix=OUTPUT %s
// RUN: FileCheck --check-prefix=LONG --implicit-check-not=waits --input-file=timed %s
// LONG: {{faster.*}}: a variant is kept
// RUN: env OFFLOOM_JIT=async %{long} %run_offload ./jit long 2> waited | FileCheck --check-prefix=OUTPUT %s
// RUN: FileCheck --check-prefix=WAITED --implicit-check-not='compiled in' --input-file=waited %s
// WAITED: {{faster.*}}: a launch waits for a variant that was faster lately
// RUN: env OFFLOOM_JIT=async OFFLOOM_JIT_RETIRE=0 %{long} %run_offload ./jit long 2> untimed | FileCheck --check-prefix=OUTPUT %s
// RUN: not grep waits untimed
#include <cstdio>

#pragma omp begin declare target
// As many steps as the caller does not know how to avoid.
static double walk(int steps) {
  double x = 0;
  for (int i = 0; i < steps; ++i)
    x = x * 0.5 + 1;
  return x;
}
#pragma omp end declare target

// Only code that does not know the value walks, so a variant is faster.
static double faster(int steps) {
  double x = 0;
#pragma omp target map(tofrom : x)
  if (!__builtin_constant_p(steps))
    x = walk(steps) >= 0 ? 0 : steps;
  return x;
}

// Only code that knows the value walks.
static double slower(int steps) {
  double x = 0;
#pragma omp target map(tofrom : x)
  if (__builtin_constant_p(steps))
    x = walk(steps) >= 0 ? 0 : steps;
  return x;
}

int main(int argc, char **) {
  double sum = 0;
  // With an argument, launches that take a tenth of a second where they walk.
  for (int i = 0; i < 10; ++i)
    sum += argc > 1 ? faster(argc * 30000000) : faster(argc * 1000000) + slower(argc * 1000000);
  std::printf("done: %.0f\n", sum);
}
