// Arguments as a launch may bring them: a literal that is narrower than a pointer fills only its own bytes of its word, and the rest is
// what lay there; a sub-array begins anywhere, and the kernel gets the address of an element that is not mapped; with `nowait` a launch
// comes from a thread of libomptarget's, after those that it depends on.
// REQUIRES: x86_64-device
// DEFINE: %{run} = env OMP_NUM_THREADS=2 OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_STATS=stats
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: env OMP_NUM_THREADS=2 %run_offload ./stock > stock.out
// RUN: FileCheck --check-prefix=STOCK%if llvm-23 %{-23%} --input-file=stock.out %s
// STOCK: littered 100
// The launch environment is among the arguments.
// STOCK-23: littered 120

// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: %{run} OFFLOOM_JIT=async %run_offload ./jit | cmp - stock.out
// RUN: %{run} OFFLOOM_JIT=sync %run_offload ./jit | cmp - stock.out
// RUN: python3 %S/Inputs/stats.py stats | FileCheck %s

// Other litter at each launch, the same arguments: one variant.
// CHECK: l[[#LITERALS:]]: 0 ahead of time, 20 of variants, 1 specializations, 1 made
// CHECK: l[[#LITERALS]]: made {{.*}}: compiled; copy 0: kept, 20 launches

// Sub-arrays whose first element is anywhere.
// CHECK: l[[#PACKED:]]: 0 ahead of time, 40 of variants
// CHECK: l[[#NUMBERS:]]: 0 ahead of time, 40 of variants

// CHECK: l[[#CHAIN:]]: 0 ahead of time, 30 of variants
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <vector>

// The start of libomptarget's record of a launch.
struct Launch {
  uint32_t version, count;
  void **bases, **begins;
  int64_t *sizes, *types;
};
static constexpr int64_t literal = 0x100;

static unsigned char litter = 0;
static int littered = 0;

// Comes before libomptarget's own, and fills what an argument leaves of its word.
extern "C" int __tgt_target_kernel(void *location, int64_t device, int32_t teams, int32_t threads, void *region, Launch *launch) {
  for (uint32_t index = 0; litter != 0 && index < launch->count; ++index)
    if ((launch->types[index] & literal) != 0 && launch->sizes[index] < 8) {
      char *word = reinterpret_cast<char *>(&launch->bases[index]);
      std::memset(word + launch->sizes[index], litter, 8 - launch->sizes[index]);
      ++littered;
    }
  using Function = int(void *, int64_t, int32_t, int32_t, void *, Launch *);
  static auto *const next = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, "__tgt_target_kernel"));
  return next(location, device, teams, threads, region, launch);
}

struct [[gnu::packed]] Cell {
  char tag;
  double value;
};

int main() {
  const signed char sign = -3;
  const unsigned char shift = 200;
  const short count = 1000;
  const bool negate = true;
  const float factor = 0.75f;
  double results[1000];
  for (int round = 1; round <= 20; ++round) {
    litter = static_cast<unsigned char>(round * 37 | 1);
    // So that the compiler knows no value.
    signed char a = sign;
    unsigned char b = shift;
    short n = count;
    bool c = negate;
    float f = factor;
    asm volatile("" : "+m"(a), "+m"(b), "+m"(n), "+m"(c), "+m"(f));
#pragma omp target map(from : results) firstprivate(a, b, n, c, f)
    for (short i = 0; i < n; ++i)
      results[i] = (c ? -f : f) * (i % b) + a;
    double sum = 0;
    for (double result : results)
      sum = sum * 0.5 + result;
    std::printf("%a\n", sum);
  }
  litter = 0;
  std::printf("littered %d\n", littered);

  std::vector<Cell> cells(300);
  for (int i = 0; i < 300; ++i)
    cells[i] = {static_cast<char>(i), i * 0.5};
  Cell *cell = cells.data();
  for (int first = 0; first < 40; ++first) {
    const int last = first + 200 + first % 3;
#pragma omp target map(tofrom : cell[first : last - first])
    for (int i = first; i < last; ++i)
      cell[i].value = cell[i].value * 1.25 + cell[i].tag;
  }
  std::vector<double> numbers(300, 1.5);
  double *number = numbers.data();
  for (int first = 0; first < 40; ++first) {
    const int last = first + 200 + first % 3;
#pragma omp target map(tofrom : number[first : last - first])
    for (int i = first; i < last; ++i)
      number[i] = number[i] * 1.0625 + first;
  }
  double sum = 0;
  for (int i = 0; i < 300; ++i)
    sum = sum * 0.99 + cells[i].value + numbers[i];
  std::printf("%a\n", sum);

  double *chained = numbers.data();
#pragma omp target data map(tofrom : chained[0 : 300])
#pragma omp parallel
#pragma omp single
  {
    for (int step = 0; step < 30; ++step) {
#pragma omp target nowait depend(inout : chained[0]) firstprivate(step)
      for (int i = 0; i < 300; ++i)
        chained[i] = chained[i] * 0.5 + chained[(i + step) % 300] + (step % 3 == 0 ? i : -i);
    }
#pragma omp taskwait
  }
  sum = 0;
  for (double value : numbers)
    sum = sum * 0.99 + value;
  std::printf("%a\n", sum);
}
