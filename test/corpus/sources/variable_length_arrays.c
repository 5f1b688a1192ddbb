// Exercises: variable length arrays and 2D arrays captured, mapped, and private in a region.
#include <stdio.h>

static int total(int rows, int columns) {
  int matrix[rows][columns];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      matrix[i][j] = i * columns + j;

#pragma omp target map(tofrom : matrix)
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      matrix[i][j] *= 3;

  int line[columns];
  for (int j = 0; j < columns; ++j)
    line[j] = 1;
  int sum = 0;
#pragma omp target firstprivate(line) map(tofrom : sum) map(to : matrix)
  {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        line[j] += matrix[i][j];
    for (int j = 0; j < columns; ++j)
      sum += line[j];
  }
  return sum + 1000 * line[0];
}

int main(void) {
  int fixed[6][7] = {{0}};
#pragma omp target teams distribute parallel for collapse(2)
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 7; ++j)
      fixed[i][j] = i * j;

  int (*row)[7] = fixed;
#pragma omp target map(tofrom : row[1 : 2])
  {
    row[1][6] += 50;
    row[2][0] += 7;
  }
  int sum = 0;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 7; ++j)
      sum += fixed[i][j];

  int dynamic = total(4, 5);
  printf("fixed %d dynamic %d\n", sum, dynamic);
  return sum == 372 && dynamic == 1575 ? 0 : 1;
}
