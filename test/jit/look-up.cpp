// Which launches share a variant, as the statistics tell it: pointers that differ only in how far they are aligned beyond the
// weakest seen, arguments that cannot matter, values that were seen before, in this run or an earlier one; and when an argument is
// no longer specialised.
// REQUIRES: x86_64-device
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_STATS=stats
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link

// RUN: %{run} OFFLOOM_JIT_THRESHOLD=4 %run_offload ./jit | cmp - stock.out
// RUN: python3 %S/Inputs/stats.py stats | FileCheck %s

// From one address like 0x1230 and one like 0x4560: what both are aligned to, in whichever order they come.
// CHECK: l[[#WEAK:]]: 0 ahead of time, 2 of variants, 1 specializations, 1 made
// CHECK: l[[#WEAK]]: made {{.*}}align:16{{.*}}: compiled; copy 0: kept, 2 launches
// CHECK: l[[#STRICT:]]: 0 ahead of time, 3 of variants, 2 specializations, 2 made
// CHECK: l[[#STRICT]]: made {{.*}}align:32{{.*}}: compiled; copy 0: kept, 1 launches
// CHECK: l[[#STRICT]]: made {{.*}}align:16{{.*}}: compiled; copy 0: kept, 2 launches

// A parameter that is not used, with another value at each launch.
// CHECK: l[[#UNUSED:]]: 0 ahead of time, 10 of variants, 1 specializations, 1 made

// With T=4 and R=0.5: five values, then one variant for every other, without a further compile. The argument that does not
// change stays specialised.
// CHECK: l[[#CHANGING:]]: 0 ahead of time, 40 of variants, 6 specializations, 6 made
// CHECK-NEXT: l[[#CHANGING]]: value of [[#]]: 5, megamorphic, for {{.*}}loop bound
// CHECK: l[[#CHANGING]]: value of [[#]]: 1, specialized, for {{.*}}
// CHECK-COUNT-5: l[[#CHANGING]]: made {{.*}}: compiled; copy 0: kept, 1 launches
// CHECK-NEXT: l[[#CHANGING]]: made {{.*}}: compiled; copy 0: kept, 35 launches

// Either condition alone does not hold it back: T is not exceeded, then R is not.
// RUN: %{run} OFFLOOM_JIT_THRESHOLD=100 %run_offload ./jit | cmp - stock.out
// RUN: python3 %S/Inputs/stats.py stats | FileCheck --check-prefix=NOT-EXCEEDED %s
// RUN: %{run} OFFLOOM_JIT_THRESHOLD=0 OFFLOOM_JIT_RATIO=1 %run_offload ./jit | cmp - stock.out
// RUN: python3 %S/Inputs/stats.py stats | FileCheck --check-prefix=NOT-EXCEEDED %s
// NOT-EXCEEDED: l[[#]]: 0 ahead of time, 40 of variants, 40 specializations, 40 made
// NOT-EXCEEDED-NEXT: value of [[#]]: 40, specialized

// The second level: another run finds everything in the cache.
// RUN: %{run} OFFLOOM_JIT_THRESHOLD=4 OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit | cmp - stock.out
// RUN: %{run} OFFLOOM_JIT_THRESHOLD=4 OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit | cmp - stock.out
// RUN: python3 %S/Inputs/stats.py stats | FileCheck --check-prefix=CACHED --implicit-check-not=': compiled' %s
// CACHED-COUNT-10: made {{.*}}: cache; copy 0: kept
#include <cstdio>
#include <omp.h>

static long *at(char *page, unsigned offset) { return reinterpret_cast<long *>(page + offset); }

// What is loaded from the object decides about a loop, so the pointer counts; the kernel writes it, so its contents do not.
static void weak_first(long *data) {
#pragma omp target is_device_ptr(data)
  for (long i = 0, count = data[0]; i < count; ++i)
    data[i] = data[i] * 2 + 1;
}

static void strict_first(long *data) {
#pragma omp target is_device_ptr(data)
  for (long i = 0, count = data[0]; i < count; ++i)
    data[i] = data[i] * 3 + 1;
}

static void unused_parameter(long *data, int unused) {
#pragma omp target is_device_ptr(data) firstprivate(unused)
  for (int i = 0; i < 8; ++i)
    data[i] = data[i] / 2;
}

static void changing(long *data, int changing, int constant) {
#pragma omp target is_device_ptr(data) firstprivate(changing, constant)
  for (int i = 0; i < changing; ++i)
    for (int j = 0; j < constant; ++j)
      data[j] += i % constant;
}

int main() {
  const int device = omp_get_default_device();
  char *memory = static_cast<char *>(omp_target_alloc(3 * 4096, device));
  char *page = memory + (4096 - reinterpret_cast<unsigned long>(memory) % 4096);
  long values[512];
  for (long &value : values)
    value = 3;
  omp_target_memcpy(page, values, sizeof values, 0, 0, device, omp_get_initial_device());

  weak_first(at(page, 0x230));
  weak_first(at(page, 0x560));
  strict_first(at(page, 0x560));
  strict_first(at(page, 0x230));
  strict_first(at(page, 0x560));
  for (int i = 0; i < 10; ++i)
    unused_parameter(at(page, 0x560), i);
  for (int i = 0; i < 40; ++i)
    changing(at(page, 0x560), i, 7);

  omp_target_memcpy(values, page, sizeof values, 0, 0, omp_get_initial_device(), device);
  for (long value : values)
    std::printf("%ld\n", value);
  omp_target_free(memory, device);
}
