// Launches a tiny kernel with ten arguments again and again, on each of some threads, and prints the 99.9th percentile of what a launch took,
// the first one included, in nanoseconds, and a number that the kernel computed. Times are processor time of the launching thread, and the
// clock's is taken off.
//
// usage: launch-times LAUNCHES VALUES THREADS, where VALUES is how many different scalars come in turns.
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

__attribute__((noinline)) static void launch(int *object, int a, int b, int c, int d, int e, int f, int g, int h) {
#pragma omp target map(tofrom : object[0 : 8])
  for (int i = 0; i < 8; ++i)
    object[i] = (object[i] + a + b + c + d + e + f + g) % h;
}

int main(int count, char **arguments) {
  const int launches = count > 1 ? atoi(arguments[1]) : 1000, values = count > 2 ? atoi(arguments[2]) : 1,
            threads = count > 3 ? atoi(arguments[3]) : 1;
  long *times = malloc(sizeof(long) * launches * threads);
  int sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : sum)
  for (int thread = 0; thread < threads; ++thread) {
    int object[8] = {9, 8, 7, 6, 5, 4, 3, 2};
#pragma omp target data map(tofrom : object)
    {
      for (int number = 0; number < launches; ++number) {
        const long start = now();
        launch(object, 3, 5, 7, 11, 13, 17, 19, 2 + number % values);
        times[(long)thread * launches + number] = now() - start;
      }
    }
    sum += object[3];
  }
  long clock = 1000000000L;
  for (int i = 0; i < 1000; ++i) {
    const long start = now(), end = now();
    if (end - start < clock)
      clock = end - start;
  }
  const long total = (long)launches * threads;
  qsort(times, total, sizeof(long), compare);
  printf("%ld %d\n", times[total - 1 - total / 1000] - clock, sum);
  free(times);
}
