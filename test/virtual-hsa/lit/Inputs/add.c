// Adds to numbers on the device, and their sum on the host.
#include <stdio.h>

int main(void) {
  int numbers[100], sum = 0;
  for (int i = 0; i < 100; ++i)
    numbers[i] = i;
#pragma omp target teams distribute parallel for map(tofrom : numbers)
  for (int i = 0; i < 100; ++i)
    numbers[i] += 1;
  for (int i = 0; i < 100; ++i)
    sum += numbers[i];
  printf("%d\n", sum);
}
