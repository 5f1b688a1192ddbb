// Exercises: tile and unroll inside regions and under worksharing directives, non-rectangular
// collapse, loops over iterators and unsigned or descending counters.
#include <cstdio>

int main() {
  int grid[12][10], triangle = 0, total = 0;
#pragma omp target map(from : grid)
  {
#pragma omp parallel for
#pragma omp tile sizes(4, 3)
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j < 10; ++j)
        grid[i][j] = i * 10 + j;
  }
#pragma omp target map(tofrom : grid)
  {
#pragma omp unroll partial(2)
    for (unsigned i = 0; i < 12; ++i)
      grid[i][0] += 1;
#pragma omp unroll full
    for (int i = 3; i > 0; --i)
      grid[0][i] = 0;
  }
#pragma omp target parallel for collapse(2) reduction(+ : triangle)
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < i; ++j)
      triangle += 1;

  int *first = &grid[0][0];
#pragma omp target teams distribute parallel for reduction(+ : total) map(to : first[0 : 120])
  for (int *p = first; p < first + 120; p += 1)
    total += *p;
  std::printf("triangle %d total %d\n", triangle, total);
  return triangle == 190 && total == 7146 ? 0 : 1;
}
