// Launches a kernel once with each of four values of a scalar, and prints what the first of these launches took, what the others took in
// the middle, and what the kernel computed: "first SECONDS later SECONDS result NUMBER".
//
// The kernel has no pointers, so where objects lie does not matter to its variants.
#include <stdio.h>
#include <time.h>

enum { VALUES = 4 };

#pragma omp declare target
static int numbers[64];
#pragma omp end declare target

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

__attribute__((noinline)) static void launch(int divisor) {
#pragma omp target
  for (int i = 0; i < 64; ++i)
    numbers[i] = (numbers[i] + 1000 * i) % divisor;
}

int main(void) {
  double times[VALUES];
  for (int value = 0; value < VALUES; ++value) {
    const double start = now();
    launch(7 + value);
    times[value] = now() - start;
  }
  // The second of three.
  double low = times[1], high = times[1];
  for (int value = 2; value < VALUES; ++value) {
    low = times[value] < low ? times[value] : low;
    high = times[value] > high ? times[value] : high;
  }
  const double middle = times[1] + times[2] + times[3] - low - high;
  int result = 0;
#pragma omp target map(tofrom : result)
  result = numbers[5];
  printf("first %.9f later %.9f result %d\n", times[0], middle, result);
}
