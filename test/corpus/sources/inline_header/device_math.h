// Inline functions with regions, inline variables and static functions, included by every unit.
#ifndef DEVICE_MATH_H
#define DEVICE_MATH_H

#pragma omp begin declare target
inline int calls = 0;
inline int cube(int x) {
  ++calls;
  return x * x * x;
}
static int per_unit = 10;
static inline int next_of_unit() { return per_unit++; }
inline int next_of_all() {
  static int counter = 1;
  return counter++;
}
#pragma omp end declare target

inline int cubes(int n) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 1; i <= n; ++i)
    sum += cube(i);
  return sum;
}

struct counter {
  int value;
  int advance(int by) {
#pragma omp target map(tofrom : value)
    value += by;
    return value;
  }
};

// All units' copies of this function share one kernel: regions are named after the header.
static int all_next() {
  int result = 0;
#pragma omp target map(from : result)
  result = next_of_all();
  return result;
}

int second_unit();
int third_unit();
#endif
