// ONLY: 22 (Clang 19 has the assumes directives, but not the assume block)
// Exercises: the assume block with no_openmp, no_parallelism and holds inside a region.
#include <cstdio>

int main() {
  int a[32], sum = 0, n = 32;
  for (int i = 0; i < 32; ++i)
    a[i] = i;
#pragma omp target map(tofrom : sum) map(to : a)
  {
#pragma omp assume no_openmp no_parallelism holds(n == 32)
    {
      for (int i = 0; i < n; ++i)
        sum += a[i];
    }
  }
  std::printf("sum %d\n", sum);
  return sum == 496 ? 0 : 1;
}
