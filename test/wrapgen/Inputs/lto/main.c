#include <stdio.h>

#pragma omp begin declare target
int total = 1;
int native_part(int value);
int called_back(int value) { return value + total; }
int used_here_only(int value) { return value * 3; }
int archived(int value);
#pragma omp end declare target

int main(void) {
  int value = 4;
#pragma omp target map(tofrom : value)
  {
    total += 1;
    value = native_part(used_here_only(value)) + archived(value);
  }
#pragma omp target update from(total)
  printf("value %d total %d\n", value, total);
}
