// Exercises: declare target link for a scalar, an array, a 2D array and a struct: reached through
// the reference pointers, mapped only where a region or a data directive says so.
#include <stdio.h>

struct pair {
  int first;
  double second;
};

int scalar = 4;
int array[32];
short table[3][5];
struct pair pair = {1, 0.25};
#pragma omp declare target link(scalar, array, table, pair)

static int untouched = 12;
#pragma omp declare target link(untouched)

int main(void) {
  for (int i = 0; i < 32; ++i)
    array[i] = i;

#pragma omp target map(tofrom : scalar, array, table, pair)
  {
    scalar *= 10;
    for (int i = 0; i < 32; ++i)
      array[i] += scalar;
    table[2][4] = (short)array[31];
    pair.first += 1;
    pair.second *= 2;
  }

  int seen = 0;
#pragma omp target map(tofrom : seen) map(tofrom : untouched)
  {
    untouched += 5;
    seen = untouched;
  }

  int sum = 0;
  for (int i = 0; i < 32; ++i)
    sum += array[i];
  printf("scalar %d sum %d table %d pair %d %.2f untouched %d seen %d\n", scalar, sum, table[2][4],
         pair.first, pair.second, untouched, seen);
  return scalar == 40 && sum == 1776 && table[2][4] == 71 && pair.first == 2 &&
                 pair.second == 0.5 && untouched == 17 && seen == 17
             ? 0
             : 1;
}
