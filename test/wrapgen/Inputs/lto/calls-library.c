#include <stdio.h>

#pragma omp declare target
__attribute__((noinline)) int call_back(int value) { return value; }
int twice_and_one(int value);
#pragma omp end declare target

int main(void) {
  int result = 0;
#pragma omp target map(from : result)
  result = twice_and_one(21);
  printf("result %d\n", result);
}
