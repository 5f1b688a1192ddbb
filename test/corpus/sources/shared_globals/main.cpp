// Exercises: globals and functions shared between translation units on the device, and updated from
// a third unit.
#include "globals.h"
#include <cstdio>

int main() {
  int id = visit_from_user();
  visit_from_user();
  int visits = 0;
#pragma omp target map(from : visits)
  visits = constructed.visits * 10 + shared_function(0);
#pragma omp target update from(plain, table, space::real, holder::member)
  std::printf("id %d visits %d plain %d table %d real %.2f member %d linked %d\n", id, visits, plain,
              table[7], space::real, holder::member, linked[3]);
  return id == 12 && visits == 25 && plain == 5 && table[7] == 106 && space::real == 3.0 &&
                 holder::member == 10 && linked[3] == 12
             ? 0
             : 1;
}
