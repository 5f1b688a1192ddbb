#include <math.h>
#include <stdio.h>

int main(void) {
  volatile double square = 9;
  double root = 0, value = square;
#pragma omp target map(tofrom : root) firstprivate(value)
  root = sqrt(value);
  printf("root %g\n", root);
  return 0;
}
