// Exercises: in_reduction on a target region inside a taskgroup with task_reduction.
#include <cstdio>

int main() {
  int sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
  {
#pragma omp task in_reduction(+ : sum)
    sum += 5;
#pragma omp target in_reduction(+ : sum)
    sum += 7;
#pragma omp target in_reduction(+ : sum)
    sum += 30;
  }
  std::printf("sum %d\n", sum);
  return sum == 42 ? 0 : 1;
}
