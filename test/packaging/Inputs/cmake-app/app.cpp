// Adds numbers on the device.
#include <cstdio>

int main() {
  double sum = 0;
  int n = 1000;
#pragma omp target map(tofrom : sum)
  for (int i = 1; i <= n; ++i)
    sum += i;
  std::printf("sum %g\n", sum);
  return sum == 500500 ? 0 : 1;
}
