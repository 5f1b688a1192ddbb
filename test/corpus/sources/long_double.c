// TARGETS: x86_64 (GPUs have no long double)
// Exercises: long double and C complex values as scalars, arrays and firstprivate.
#include <complex.h>
#include <stdio.h>

int main(void) {
  long double wide = 1.0L, table[4] = {1, 2, 3, 4};
  const long double factor = 0.5L;
  double _Complex z = 1.0 + 2.0 * I;
  float _Complex small[2] = {1.0f, 2.0f * I};

#pragma omp target map(tofrom : wide, table, z, small) firstprivate(factor)
  {
    for (int i = 0; i < 4; ++i) {
      table[i] *= factor;
      wide += table[i];
    }
    z = z * z;
    small[0] += small[1];
  }
  printf("wide %.2Lf table %.2Lf z %.1f%+.1fi small %.1f%+.1fi\n", wide, table[3], creal(z),
         cimag(z), crealf(small[0]), cimagf(small[0]));
  return wide == 6.0L && table[3] == 2.0L && creal(z) == -3.0 && cimag(z) == 4.0 ? 0 : 1;
}
