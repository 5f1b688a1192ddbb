// Exercises: the header's regions from a second unit.
#include "device_math.h"

int second_unit() {
  int result = 0;
#pragma omp target map(from : result)
  result = next_of_unit();
  return 1000 * result + 10 * all_next() + cubes(2);
}
