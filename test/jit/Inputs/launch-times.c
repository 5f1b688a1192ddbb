// Launches a tiny kernel again and again and prints what a launch takes on the launching thread, in nanoseconds of processor time: the
// median and the 99.9th percentile, with the cost of the clock taken off.
//
// usage: launch-times LAUNCHES VALUES, where VALUES is how many different scalars come in turns.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int compare(const void *left, const void *right) {
  const long a = *(const long *)left, b = *(const long *)right;
  return (a > b) - (a < b);
}

int main(int count, char **arguments) {
  const int launches = count > 1 ? atoi(arguments[1]) : 1000, values = count > 2 ? atoi(arguments[2]) : 1;
  long *times = malloc(sizeof(long) * launches);
  int object[8] = {9, 8, 7, 6, 5, 4, 3, 2}, a = 3, b = 5, c = 7, d = 11, e = 13, f = 17, g = 19;
#pragma omp target data map(tofrom : object)
  for (int launch = 0; launch < launches; ++launch) {
    const int h = 2 + launch % values;
    const long start = now();
#pragma omp target
    for (int i = 0; i < 8; ++i)
      object[i] = (object[i] + a + b + c + d + e + f + g) % h;
    times[launch] = now() - start;
  }
  long clock = 1000000000L;
  for (int i = 0; i < 1000; ++i) {
    const long start = now(), end = now();
    if (end - start < clock)
      clock = end - start;
  }
  qsort(times, launches, sizeof(long), compare);
  printf("%ld %ld %d\n", times[launches / 2] - clock, times[launches - 1 - launches / 1000] - clock, object[3]);
  free(times);
}
