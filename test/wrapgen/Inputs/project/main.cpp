#include <cstdio>

int scale(int);
int shift(int);

int main() {
  int value = 3;
#pragma omp target map(tofrom : value)
  value += 1;
  std::printf("%d %d %d\n", value, scale(value), shift(value));
}
