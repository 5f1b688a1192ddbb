// Exercises: map(to|from|tofrom|alloc), array sections, the always, close and present modifiers.
#include <stdio.h>

#define N 64

int main(void) {
  int in[N], out[N], both[N], scratch[N];
  for (int i = 0; i < N; ++i) {
    in[i] = i;
    out[i] = -1;
    both[i] = 100;
    scratch[i] = 0;
  }

#pragma omp target map(to : in) map(from : out) map(tofrom : both) map(alloc : scratch)
  for (int i = 0; i < N; ++i) {
    scratch[i] = 2 * in[i];
    out[i] = scratch[i] + 1;
    both[i] += i;
  }

  /* Only the section's elements reach the device. */
#pragma omp target map(tofrom : both[16 : 32])
  for (int i = 16; i < 48; ++i)
    both[i] *= 3;

  int counter = 5;
#pragma omp target data map(to : in) map(tofrom : counter)
  {
    counter = 7;
#pragma omp target map(always, tofrom : counter) map(present, to : in)
    counter += in[N - 1];
#pragma omp target map(close, to : in[0 : 4]) map(always, from : counter)
    counter *= in[2];
  }

  long sum_out = 0, sum_both = 0;
  for (int i = 0; i < N; ++i) {
    sum_out += out[i];
    sum_both += both[i];
  }
  printf("out %ld both %ld counter %d\n", sum_out, sum_both, counter);
  return sum_out == 4096 && sum_both == 16832 && counter == 140 ? 0 : 1;
}
