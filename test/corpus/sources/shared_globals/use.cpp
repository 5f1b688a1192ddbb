// Exercises: regions of a unit that defines none of the globals it reads and writes.
#include "globals.h"

int visit_from_user() {
  int id = 0;
#pragma omp target map(from : id) map(tofrom : linked)
  {
    constructed.visits += 1;
    table[7] += table[2] + fixed;
    space::real *= 2;
    holder::member += 1;
    plain = shared_function(1);
    linked[3] += plain;
    id = constructed.id;
  }
  return id;
}
