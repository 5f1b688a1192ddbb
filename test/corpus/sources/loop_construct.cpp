// Exercises: the loop construct: target loop via teams loop, parallel loop, nested loop with bind,
// order(concurrent), and its reductions.
#include <cstdio>

int main() {
  constexpr int rows = 12, columns = 20;
  int matrix[rows][columns];
  long sum = 0;
  int product = 1, powers[3];

#pragma omp target teams loop collapse(2)
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      matrix[i][j] = i * j;

#pragma omp target parallel loop map(tofrom : matrix)
  for (int i = 0; i < rows; ++i)
    matrix[i][0] = 5;

#pragma omp target teams loop bind(teams) map(tofrom : matrix)
  for (int i = 0; i < rows; ++i) {
#pragma omp parallel
#pragma omp loop bind(parallel)
    for (int j = 1; j < columns; ++j)
      matrix[i][j] += 1;
  }

#pragma omp target teams loop reduction(+ : sum) map(to : matrix)
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      sum += matrix[i][j];

#pragma omp target map(tofrom : product) map(from : powers)
  {
#pragma omp loop bind(thread) order(concurrent)
    for (int i = 0; i < 3; ++i)
      powers[i] = 1 << i;
#pragma omp parallel
#pragma omp loop bind(parallel) reduction(* : product)
    for (int i = 1; i < 8; ++i)
      product *= i;
  }
  std::printf("sum %ld product %d power %d\n", sum, product, powers[2]);
  return sum == 12828 && product == 5040 && powers[2] == 4 ? 0 : 1;
}
