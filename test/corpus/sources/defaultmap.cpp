// Exercises: defaultmap with implicit behaviours and variable categories.
#include <cstdio>

struct point {
  int x, y;
};

int main() {
  int scalar = 1, other = 2, array[10] = {0};
  point p = {3, 4};
  int storage[4] = {10, 20, 30, 40};
  int *pointer = storage;

#pragma omp target defaultmap(tofrom : scalar)
  scalar += other;

#pragma omp target defaultmap(firstprivate : aggregate) map(tofrom : scalar)
  {
    array[0] = 99;
    p.x = 99;
    scalar += p.y + array[0];
  }

#pragma omp target defaultmap(tofrom : aggregate) defaultmap(firstprivate : scalar)
  {
    array[1] = scalar;
    p.y += 1;
    scalar = -1;
  }

#pragma omp target map(tofrom : storage) defaultmap(default : pointer) defaultmap(to : scalar)
  pointer[2] += scalar;

#pragma omp target defaultmap(none) map(tofrom : array) firstprivate(other)
  array[2] = other;

#pragma omp target defaultmap(tofrom)
  other += array[2];

  std::printf("scalar %d other %d array %d %d %d point %d %d storage %d\n", scalar, other, array[0],
              array[1], array[2], p.x, p.y, storage[2]);
  return array[0] == 0 && array[1] == 106 && p.y == 5 && storage[2] == 136 && other == 4 ? 0 : 1;
}
