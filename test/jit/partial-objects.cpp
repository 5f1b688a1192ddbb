// A program maps a part of an object. The kernel's code reads other parts too, but not at these launches, and they may be in no memory.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: FileCheck %s --input-file=stock.out
// CHECK: sums 0 64 128 192
// CHECK-NEXT: scaled 0 64 0 192
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_STATS=stats.json %run_offload ./jit > jit.out
// RUN: cmp stock.out jit.out
// RUN: env OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache2 %run_offload ./jit > jit.out
// RUN: cmp stock.out jit.out

// What is there is specialised all the same. (Clang 23 says of a kernel's own pointers no longer how much lies behind them.)
// RUN: %if !llvm-23 %{ FileCheck --check-prefix=STATS --input-file=stats.json %s %}
// STATS: "what": "contents"
#include <cstdio>

// A large table lies before the only part that is mapped.
struct Solver {
  int order;
  double table[4000000];
  double x[64];
};
static Solver solver;

struct Scale {
  double factor;
  int begin, end;
};

#pragma omp declare target
__attribute__((noinline)) static double of_table(const Solver *solver) {
  double sum = 0;
  for (int i = 0; i < solver->order; ++i)
    sum += solver->table[i];
  return sum;
}
#pragma omp end declare target

int main(int argc, char **) {
  const int whole = argc > 5;
  std::printf("sums");
  for (int round = 0; round < 4; ++round) {
    double sum = 0;
    for (double &x : solver.x)
      x = round;
#pragma omp target map(to : solver.x) map(tofrom : sum) firstprivate(whole)
    if (whole)
      sum = of_table(&solver);
    else
      for (int i = 0; i < 64; ++i)
        sum += solver.x[i];
    std::printf(" %g", sum);
  }
  std::printf("\nscaled");
  for (int round = 0; round < 4; ++round) {
    double sum = 0;
    const Scale scale{1.0 * round, 0, 64};
    const int some = round % 2;
#pragma omp target teams distribute parallel for map(to : scale, solver.x) reduction(+ : sum) firstprivate(some)
    for (int i = 0; i < 64 * some; ++i)
      if (i >= scale.begin && i < scale.end)
        sum += scale.factor;
    std::printf(" %g", sum);
  }
  std::printf("\n");
}
