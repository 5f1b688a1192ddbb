// Starts and ends; with an argument, launches a kernel once.
#include <stdio.h>

int main(int count, char **arguments) {
  (void)arguments;
  int number = 0;
  if (count > 1) {
#pragma omp target map(tofrom : number) firstprivate(count)
    for (int i = 0; i < count; ++i)
      number += i;
    printf("%d\n", number);
  }
  return 0;
}
