// ONLY: 22 (the runtime of 19 copies a stride's elements as if they were contiguous)
// Without a device it prints something else: the elements between those that are copied change only where host and device share them
// Exercises: target update with a stride: the NON_CONTIG map type and its descriptor.
#include <stdio.h>

int main(void) {
  int a[40];
  for (int i = 0; i < 40; ++i)
    a[i] = i;
#pragma omp target enter data map(to : a)
#pragma omp target
  for (int i = 0; i < 40; ++i)
    a[i] += 100;
#pragma omp target update from(a[0 : 10 : 2])
  int even = 0, odd = 0;
  for (int i = 0; i < 20; i += 2) {
    even += a[i];
    odd += a[i + 1];
  }
#pragma omp target exit data map(release : a)
  printf("even %d %s\n", even, odd == 100 ? "odd untouched" : "odd also copied");
  return even == 1090 ? 0 : 1;
}
