// Exercises: declare mapper, default and named, for one object and for an array of them.
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int length;
  int *values;
  int *extra;
} buffer;

#pragma omp declare mapper(buffer b) map(b, b.values[0 : b.length])
#pragma omp declare mapper(with_extra : buffer b) \
    map(b, b.values[0 : b.length], b.extra[0 : b.length])

static int sum_of(const int *p, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += p[i];
  return sum;
}

int main(void) {
  buffer b = {10, malloc(10 * sizeof(int)), malloc(10 * sizeof(int))};
  for (int i = 0; i < 10; ++i) {
    b.values[i] = i;
    b.extra[i] = 100;
  }

#pragma omp target map(tofrom : b)
  for (int i = 0; i < b.length; ++i)
    b.values[i] += 1;

#pragma omp target map(mapper(with_extra), tofrom : b)
  for (int i = 0; i < b.length; ++i)
    b.extra[i] += b.values[i];

  int numbers[2][3] = {{1, 2, 3}, {4, 5, 6}};
  buffer list[2] = {{3, numbers[0], NULL}, {3, numbers[1], NULL}};
#pragma omp target map(mapper(default), tofrom : list[0 : 2])
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < list[i].length; ++j)
      list[i].values[j] *= 10;
  int listed = sum_of(&numbers[0][0], 6);

  int values = sum_of(b.values, 10), extra = sum_of(b.extra, 10);
  printf("values %d extra %d listed %d\n", values, extra, listed);
  free(b.values);
  free(b.extra);
  return values == 55 && extra == 1055 && listed == 210 ? 0 : 1;
}
