// Exercises: worksharing constructs orphaned in device functions, parallel regions several calls
// deep, and nested parallelism, called from one region.
#include <cstdio>

#pragma omp begin declare target
void fill(int *values, int n) {
#pragma omp for schedule(static)
  for (int i = 0; i < n; ++i)
    values[i] = i + 1;
}
int add_up(const int *values, int n) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(2)
  for (int i = 0; i < n; ++i)
    sum += values[i];
  return sum;
}
void distributed(int *values, int n) {
#pragma omp distribute parallel for
  for (int i = 0; i < n; ++i)
    values[i] *= 2;
}
int deep(int depth) {
  if (depth == 0) {
    int inner = 0;
#pragma omp parallel num_threads(1)
    {
#pragma omp parallel num_threads(1)
      inner = 3;
    }
    return inner;
  }
  return 1 + deep(depth - 1);
}
#pragma omp end declare target

int main() {
  int values[64], sum = 0, depth = 0;
#pragma omp target map(from : values)
#pragma omp parallel
  fill(values, 64);
#pragma omp target teams map(tofrom : values)
  distributed(values, 64);
#pragma omp target map(to : values) map(from : sum, depth)
  {
    sum = add_up(values, 64);
    depth = deep(4);
  }
  std::printf("sum %d depth %d\n", sum, depth);
  return sum == 4160 && depth == 7 ? 0 : 1;
}
