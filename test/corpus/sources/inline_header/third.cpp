// Exercises: the header's regions from a third unit, with a region of its own on top.
#include "device_math.h"

int third_unit() {
  counter c = {1};
  int result = 10 * all_next() + c.advance(99);
#pragma omp target map(tofrom : result)
  result += next_of_unit() * 1000 + next_of_unit();
  return result;
}
