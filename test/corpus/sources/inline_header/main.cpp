// Exercises: inline functions with regions in a header that three units include, inline and static
// device variables, and a static function with a region: its copies share one kernel.
#include "device_math.h"
#include <cstdio>

int main() {
  int sum = cubes(3);
  int second = second_unit(), third = third_unit();
  int mine = all_next();
  counter c = {5};
  c.advance(10);
#pragma omp target update from(calls)
  std::printf("sum %d second %d third %d mine %d counter %d calls %d\n", sum, second, third, mine,
              c.value, calls);
  return sum == 36 && second == 10019 && third == 10131 && mine == 3 && c.value == 15 &&
                 calls == 5
             ? 0
             : 1;
}
