// Exercises: C units: device globals and functions defined here, used by the other unit's regions.
#include "matrix.h"

#pragma omp declare target
int operations = 0;
int limits[2] = {-40, 40};
int clamp(int x) { return x < limits[0] ? limits[0] : x > limits[1] ? limits[1] : x; }
#pragma omp end declare target

void multiply(const matrix *a, const matrix *b, matrix *out) {
  int n = a->rows, k = a->columns, m = b->columns;
  const int *x = a->cells, *y = b->cells;
  int *z = out->cells;
#pragma omp target teams distribute parallel for collapse(2) map(to : x[0 : n * k], y[0 : k * m])  \
    map(from : z[0 : n * m])
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      int sum = 0;
      for (int l = 0; l < k; ++l)
        sum += at(x, k, i, l) * at(y, m, l, j);
#pragma omp atomic
      operations += 1;
      z[i * m + j] = clamp(sum);
    }
}

int trace_elsewhere(const matrix *m) { return trace(m) * 10; }
