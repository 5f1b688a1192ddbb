// Exercises: the C half: defines one global, calls the C++ unit's device function.
#include "both.h"

#pragma omp declare target
int shared_counter = 5;
static int same_name(int x) { return x + 1; }
int in_c(int x) { return same_name(x) + shared_counter; }
#pragma omp end declare target

int region_in_c(int x) {
#pragma omp target map(tofrom : x)
  {
    x = in_cplusplus(x);
    shared_message.text[0] = 'C';
    shared_counter += 1;
  }
  return x;
}
