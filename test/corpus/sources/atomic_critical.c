// Exercises: atomic (read, write, update, capture, compare) and named and unnamed critical in a
// region. Critical names make internal lock variables in the device module.
#include <stdio.h>

int shared_total = 0;
#pragma omp declare target to(shared_total)

int main(void) {
  int updated = 0, captured = 0, largest = 0, locked = 0, other = 0, written = 0;
  double real = 0;

#pragma omp target teams distribute parallel for map(tofrom : updated, captured, largest, real)
  for (int i = 0; i < 1000; ++i) {
    int before;
#pragma omp atomic update
    updated += i;
#pragma omp atomic capture
    {
      before = captured;
      captured++;
    }
#pragma omp atomic compare
    if (largest < i) {
      largest = i;
    }
#pragma omp atomic
    real += 0.5;
    if (before < 0)
      updated = -1;
  }

#pragma omp target parallel for map(tofrom : locked, other)
  for (int i = 0; i < 200; ++i) {
#pragma omp critical
    locked += i;
#pragma omp critical(second)
    other -= i;
#pragma omp critical(third) hint(0)
    shared_total += 1;
  }

#pragma omp target map(from : written)
  {
    int value;
#pragma omp atomic read seq_cst
    value = shared_total;
#pragma omp atomic write release
    written = value + 1;
  }
  printf("updated %d captured %d largest %d real %.1f locked %d other %d written %d\n", updated,
         captured, largest, real, locked, other, written);
  return updated == 499500 && captured == 1000 && largest == 999 && real == 500.0 &&
                 locked == 19900 && other == -19900 && written == 201
             ? 0
             : 1;
}
