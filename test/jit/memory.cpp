// Scalars that change at every launch, none of them often enough to be megamorphic: memory, and the number of variants, stay bounded.
// REQUIRES: x86_64-device
// DEFINE: %{jit} = env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_STATS=stats %run_offload ./jit
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O1 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_LOG=1 %{jit} 2> log | FileCheck %s
// RUN: python3 %S/Inputs/stats.py stats | FileCheck --check-prefix=STATS %s
// CHECK: 100000 launches, memory is bounded
// Once there are 256, one launch of 1024 without a variant makes room for one by evicting the oldest, whose code is freed.
// STATS: , 35[[#]] specializations, 35[[#]] made
// RUN: python3 %S/Inputs/stats.py stats | grep -o 'copy 0: [a-z]*' | sort | uniq -c | FileCheck --check-prefix=EVICTED %s
// EVICTED: {{9[0-9]}} copy 0: evicted
// EVICTED-NEXT: 256 copy 0: measuring
// RUN: grep -c '"evicted"' stats > evicted
// RUN: grep -c 'memory of a retired variant: free for others' log | cmp - evicted

// Variants that are never megamorphic are as many at most.
// RUN: env OFFLOOM_JIT_RETIRE=0 %{jit} | FileCheck %s
// RUN: python3 %S/Inputs/stats.py stats | FileCheck --check-prefix=KEPT %s
// KEPT: , 256 specializations, 256 made

// Where none can be made it is the same: what is known of launches makes room.
// RUN: env OFFLOOM_JIT_STRICT=0 OFFLOOM_JIT=sync OFFLOOM_JIT_TIME_LIMIT=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STATS=stats %run_offload ./jit 2> failed | FileCheck %s
// RUN: python3 %S/Inputs/stats.py stats | FileCheck --check-prefix=FAILED %s
// FAILED: , 35[[#]] specializations, 35[[#]] made

// Retired variants are freed, once each, in either mode.
// RUN: env OFFLOOM_JIT_LOG=1 %{jit} repeat 2> log | FileCheck --check-prefix=REPEATED %s
// RUN: grep -c 'a variant is retired' log > retired || true
// RUN: grep -c 'memory of a retired variant: free for others' log > freed || true
// RUN: cmp retired freed
// REPEATED: 4000 launches
#include <cstdint>
#include <cstdio>
#include <unistd.h>

static int64_t launch(const int64_t *values, const int64_t *by) {
  int64_t sum = 0;
  const int64_t a = by[0], b = by[1], c = by[2], d = by[3];
#pragma omp target map(tofrom : sum) map(to : values[0 : 4])
  for (int i = 0; i < 4; ++i)
    sum += values[i] % a + values[i] % b + values[i] % c + values[i] % d;
  return sum;
}

static long resident_kilobytes() {
  FILE *file = std::fopen("/proc/self/statm", "r");
  long all = 0, resident = 0;
  if (std::fscanf(file, "%ld %ld", &all, &resident) != 2)
    resident = 0;
  std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int count, char **) {
  const bool repeat = count > 1;
  const int launches = repeat ? 4000 : 100000;
  int64_t values[4] = {12345, 777, 31337, 99}, by[4] = {3, 5, 7, 11};
  long early = 0;
  for (int round = 0; round < launches; ++round) {
    // Repeated launches are timed until their variants are kept or retired.
    by[round % 4] = 3 + (repeat ? round % 16 / 8 : round % 10007);
    int64_t expected = 0;
    for (int64_t value : values)
      for (int64_t divisor : by)
        expected += value % divisor;
    if (launch(values, by) != expected)
      return 1;
    if (round == launches / 10)
      early = resident_kilobytes();
  }
  const long grown = resident_kilobytes() - early;
  std::printf("%d launches, memory %s\n", launches, grown < 4096 ? "is bounded" : "grows");
}
