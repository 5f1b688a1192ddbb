// Objects that kernels only read are specialised to what they hold on the device at launch: mapped at the launch, or held by
// `target data`, where what the host writes arrives only with `target update`. Kernels that may write such an object through another pointer
// are not. Results are those of the stock program.
// REQUIRES: x86_64-device
// DEFINE: %{sync} = OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_CACHE_MODE=off OMP_NUM_THREADS=2
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: FileCheck --check-prefix=PRINTED --input-file=stock.out %s
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env %{sync} %run_offload ./jit 2> log | cmp - stock.out
// RUN: FileCheck --check-prefixes=CHECK,FIELDS%if llvm-23 %{-23%} --implicit-check-not='+contents:' --input-file=log %s
// Where such an object lies is no part of what its variant is for (`align:N+contents:`).
// RUN: env %{sync} OFFLOOM_JIT_SPECIALIZE=args,align %run_offload ./jit 2> without | cmp - stock.out
// RUN: FileCheck --check-prefix=WITHOUT --implicit-check-not=contents: --input-file=without %s
// WITHOUT: compiled in

// Mapped at each launch, each with contents of its own. Known is what a constant matters for; the pointer and the field of the
// type that the kernel writes are not. (LLVM 23 reads the second field where it matters, too.)
// FIELDS-DAG: mapped{{.*}}: compiled in {{.*}}contents:04000000{{(;|$)}}
// FIELDS-23-DAG: mapped{{.*}}: compiled in {{.*}}contents:0400000001000000{{(;|$)}}
// FIELDS-DAG: mapped{{.*}}: compiled in {{.*}}contents:05000000{{(;|$)}}
// FIELDS-23-DAG: mapped{{.*}}: compiled in {{.*}}contents:0500000001000000{{(;|$)}}
// FIELDS-DAG: mapped{{.*}}: compiled in {{.*}}contents:06000000{{(;|$)}}
// FIELDS-23-DAG: mapped{{.*}}: compiled in {{.*}}contents:0600000001000000{{(;|$)}}
// In `target data`: what was there when the region began, and what an update brought.
// FIELDS-DAG: held{{.*}}: compiled in {{.*}}contents:07000000{{(;|$)}}
// FIELDS-23-DAG: held{{.*}}: compiled in {{.*}}contents:0700000002000000{{(;|$)}}
// FIELDS-DAG: held{{.*}}: compiled in {{.*}}contents:09000000{{(;|$)}}
// FIELDS-23-DAG: held{{.*}}: compiled in {{.*}}contents:0900000002000000{{(;|$)}}
// CHECK-DAG: written{{.*}}: compiled in
// CHECK-NOT: written{{.*}}contents:

// PRINTED: mapped 30 45 63
// PRINTED-NEXT: held 112 112 180
// PRINTED-NEXT: written 3 0
#include <cstdio>

struct Settings {
  int terms;
  unsigned bits;
  const long *table;
  double scale;
};

static long table[16];

__attribute__((noinline)) static double mapped(const Settings &settings) {
  double values[8] = {};
  const long *longs = table;
#pragma omp target teams distribute parallel for map(to : settings) map(to : longs[0 : 16]) map(tofrom : values)
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < settings.terms; ++j)
      values[i] += double(longs[j] << settings.bits) * settings.scale;
  return values[7];
}

__attribute__((noinline)) static double held(const Settings &settings) {
  double values[8] = {};
  const long *longs = table;
#pragma omp target teams distribute parallel for map(to : settings) map(to : longs[0 : 16]) map(tofrom : values)
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < settings.terms; ++j)
      values[i] += double(longs[j] << settings.bits) * settings.scale;
  return values[7];
}

// Where the object lies on the device is handed over as a pointer as well, through which the kernel changes it.
__attribute__((noinline)) static int written(Settings &settings) {
  int *terms;
#pragma omp target data map(tofrom : settings) use_device_addr(settings)
  terms = &settings.terms;
  int steps = 0;
#pragma omp target map(to : settings) map(tofrom : steps) is_device_ptr(terms)
  for (int j = 0; j < settings.terms; ++j) {
    ++steps;
    if (j == 2)
      *terms = 0;
  }
  return steps;
}

int main() {
  for (int i = 0; i < 16; ++i)
    table[i] = i + 1;
  Settings settings{4, 1, table, 1.5};
  std::printf("mapped");
  for (; settings.terms < 7; ++settings.terms)
    std::printf(" %g", mapped(settings));
  settings = {7, 2, table, 1.0};
  std::printf("\nheld");
#pragma omp target data map(to : settings)
  {
    std::printf(" %g", held(settings));
    settings.terms = 9;
    std::printf(" %g", held(settings));
#pragma omp target update to(settings)
    std::printf(" %g", held(settings));
  }
  settings.terms = 5;
  std::printf("\nwritten");
#pragma omp target enter data map(to : settings)
  std::printf(" %d", written(settings));
  std::printf(" %d\n", written(settings));
#pragma omp target exit data map(delete : settings)
}
