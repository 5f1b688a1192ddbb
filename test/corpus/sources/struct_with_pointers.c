// Exercises: mapping a C struct, single members, and what its pointer members point to.
#include <stdio.h>
#include <stdlib.h>

struct vector {
  int length;
  int *values;
  double *weights;
  struct {
    short low, high;
  } limits;
};

static void scale(struct vector *v, int factor) {
#pragma omp target map(to : v[0 : 1]) map(tofrom : v->values[0 : v->length])
  for (int i = 0; i < v->length; ++i)
    v->values[i] *= factor;
}

int main(void) {
  struct vector v = {20, malloc(20 * sizeof(int)), malloc(20 * sizeof(double)), {3, 17}};
  for (int i = 0; i < v.length; ++i) {
    v.values[i] = i;
    v.weights[i] = 0.5;
  }

#pragma omp target map(tofrom : v) map(tofrom : v.values[0 : 20], v.weights[0 : 20])
  {
    for (int i = v.limits.low; i < v.limits.high; ++i) {
      v.values[i] += 100;
      v.weights[i] *= 4;
    }
    v.limits.low = -1;
  }
  scale(&v, 2);

  int sum = 0;
  double weight = 0;
  for (int i = 0; i < v.length; ++i) {
    sum += v.values[i];
    weight += v.weights[i];
  }
  printf("sum %d weight %.1f low %d\n", sum, weight, v.limits.low);
  free(v.values);
  free(v.weights);
  return sum == 3180 && weight == 31.0 && v.limits.low == -1 ? 0 : 1;
}
