// Kernels in which all processors' threads meet at many barriers, launched with scalars that change now and then, so that variants are asked for.
// A thread that loses its processor lets all others wait. Arguments: rounds; launches of a kernel with one scalar.
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 512, STEPS = 100 };

#define KERNEL(number)                                                                                                 \
  static void kernel_##number(double *values, int divisor) {                                                           \
    _Pragma("omp target parallel map(tofrom : values[:SIZE]) firstprivate(divisor)") for (int step = 0; step < STEPS;  \
                                                                                          ++step) {                    \
      _Pragma("omp for") for (int i = 0; i < SIZE; ++i) values[i] =                                                    \
          values[i] * 0.5 + (step + i) % (divisor + number);                                                           \
    }                                                                                                                  \
  }

KERNEL(1)
KERNEL(2)
KERNEL(3)
KERNEL(4)
KERNEL(5)
KERNEL(6)
KERNEL(7)
KERNEL(8)

static void (*const kernels[])(double *, int) = {kernel_1, kernel_2, kernel_3, kernel_4, kernel_5, kernel_6, kernel_7, kernel_8};

int main(int argc, char **argv) {
  double values[SIZE] = {0}, sum = 0;
  int rounds = argc > 1 ? atoi(argv[1]) : 1, with_one = argc > 2 ? atoi(argv[2]) : 1;
  for (int round = 0; round < rounds; ++round)
    for (int kernel = 0; kernel < 8; ++kernel)
      kernels[kernel](values, 1 + round / with_one);
  for (int i = 0; i < SIZE; ++i)
    sum += values[i];
  printf("%.17g\n", sum);
}
