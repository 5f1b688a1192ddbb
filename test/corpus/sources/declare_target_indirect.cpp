// FLAGS: -fopenmp-version=52
// Exercises: declare target indirect: free functions, overloaded and static ones, called through
// pointers that are made on the device.
#include <cstdio>

int increment(int x) { return x + 1; }
#pragma omp begin declare target indirect
int twice(int x) { return 2 * x; }
long twice(long x) { return x + 10; }
static int negate(int x) { return -x; }
namespace inner {
int square(int x) { return x * x; }
} // namespace inner
#pragma omp end declare target
#pragma omp declare target enter(increment) indirect(true)

#pragma omp begin declare target indirect(false)
int cube(int x) { return x * x * x; }
#pragma omp end declare target

int main() {
  int results[6] = {0};
#pragma omp target map(from : results)
  {
    int (*functions[5])(int) = {increment, twice, negate, inner::square, cube};
    for (int i = 0; i < 5; ++i)
      results[i] = functions[i](3 + i);
    long (*overloaded)(long) = twice;
    results[5] = static_cast<int>(overloaded(5));
  }
  for (int result : results)
    std::printf("%d ", result);
  std::printf("\n");
  return results[0] == 4 && results[1] == 8 && results[2] == -5 && results[3] == 36 &&
                 results[4] == 343 && results[5] == 15
             ? 0
             : 1;
}
