// Exercises: use_device_addr and has_device_addr for scalars, arrays and references.
#include <cstdio>

static void fill(int (&values)[16], int from) {
#pragma omp target has_device_addr(values)
  for (int i = 0; i < 16; ++i)
    values[i] = from + i;
}

int main() {
  int values[16] = {0}, scalar = 3;
  int &alias = scalar;

#pragma omp target data map(tofrom : values, scalar) use_device_addr(values)
  {
    fill(values, 40);
#pragma omp target parallel for has_device_addr(values)
    for (int i = 0; i < 16; ++i)
      values[i] *= 2;
  }

#pragma omp target data map(tofrom : alias) use_device_addr(alias)
  {
#pragma omp target has_device_addr(alias)
    alias += 4;
  }

  int sum = 0;
  for (int value : values)
    sum += value;
  std::printf("sum %d scalar %d\n", sum, scalar);
  return sum == 1520 && scalar == 7 ? 0 : 1;
}
