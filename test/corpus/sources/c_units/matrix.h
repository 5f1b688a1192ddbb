/* A small matrix type, an inline function with a region, and globals of another unit. */
#ifndef MATRIX_H
#define MATRIX_H

typedef struct {
  int rows, columns;
  int *cells;
} matrix;

#pragma omp declare target
extern int operations;
extern int limits[2];
int clamp(int x);
static inline int at(const int *cells, int columns, int i, int j) { return cells[i * columns + j]; }
#pragma omp end declare target

static inline int trace(const matrix *m) {
  int sum = 0, columns = m->columns, rows = m->rows;
  const int *cells = m->cells;
#pragma omp target map(tofrom : sum) map(to : cells[0 : rows * columns])
  for (int i = 0; i < rows; ++i)
    sum += at(cells, columns, i, i);
  return sum;
}

void multiply(const matrix *a, const matrix *b, matrix *out);
int trace_elsewhere(const matrix *m);
#endif
