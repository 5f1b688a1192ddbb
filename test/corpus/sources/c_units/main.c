// Exercises: the other C unit: static inline regions of the header exist once per unit.
#include "matrix.h"
#include <stdio.h>

int main(void) {
  int left[6], right[6], result[4] = {0};
  for (int i = 0; i < 6; ++i) {
    left[i] = i + 1;
    right[i] = i - 2;
  }
  matrix a = {2, 3, left}, b = {3, 2, right}, c = {2, 2, result};
  multiply(&a, &b, &c);
  int first = trace(&c), second = trace_elsewhere(&c);
#pragma omp target update from(operations)
  int counted = operations;
#pragma omp target
  limits[1] = 9;
  multiply(&a, &b, &c);
  int third = trace(&c);
  printf("%d %d %d operations %d\n", first, second, third, counted);
  return first == 23 && second == 230 && third == 13 && counted == 4 ? 0 : 1;
}
