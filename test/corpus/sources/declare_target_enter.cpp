// FLAGS: -fopenmp-version=52
// Exercises: declare target enter(...) of OpenMP 5.2, together with link, on a directive of its own
// and as begin declare target.
#include <cstdio>

int entered = 2;
long entered_array[6] = {1, 2, 3, 4, 5, 6};
int linked[4] = {7, 8, 9, 10};
int doubled(int x) { return 2 * x; }
#pragma omp declare target enter(entered, entered_array) link(linked) enter(doubled)

#pragma omp begin declare target
int between = 4;
int add_between(int x) { return x + between; }
#pragma omp end declare target

int main() {
  long sum = 0;
#pragma omp target map(tofrom : sum, linked)
  {
    entered = doubled(entered) + 1;
    for (long value : entered_array)
      sum += value;
    entered_array[5] = 60;
    linked[3] = add_between(linked[3]);
    between = 40;
  }
#pragma omp target update from(entered, entered_array, between)
  std::printf("entered %d %ld sum %ld linked %d between %d\n", entered, entered_array[5], sum,
              linked[3], between);
  return entered == 5 && entered_array[5] == 60 && sum == 21 && linked[3] == 14 && between == 40
             ? 0
             : 1;
}
