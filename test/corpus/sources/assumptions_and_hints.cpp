// Exercises: assumes, nothing, order(concurrent), hint, uses_allocators, allocate, and unused
// directives around regions, none of which changes a result.
#include <cstdio>
#include <omp.h>

#pragma omp begin assumes no_openmp_routines
#pragma omp begin declare target
static int pure(int x) { return x * x; }
#pragma omp end declare target
#pragma omp end assumes

int main() {
  int a[32], sum = 0;
#pragma omp target teams distribute parallel for order(concurrent)
  for (int i = 0; i < 32; ++i)
    a[i] = pure(i);

#pragma omp target map(tofrom : sum) map(to : a) uses_allocators(omp_default_mem_alloc)
  {
    for (int i = 0; i < 32; ++i)
      sum += a[i];
#pragma omp nothing
  }

  int scratch = 5, result = 0;
#pragma omp target private(scratch) allocate(omp_default_mem_alloc : scratch)                      \
    uses_allocators(omp_default_mem_alloc) map(from : result)
  {
    scratch = 8;
    result = scratch + 1;
  }

#pragma omp target map(tofrom : sum)
#pragma omp atomic hint(omp_sync_hint_uncontended)
  sum += 1;

  std::printf("sum %d result %d scratch %d\n", sum, result, scratch);
  return sum == 10417 && result == 9 && scratch == 5 ? 0 : 1;
}
