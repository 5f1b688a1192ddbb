// Exercises: target simd, target parallel for simd, declare simd in device code, with safelen,
// simdlen, aligned, linear, lastprivate and reduction.
#include <cstdio>

#pragma omp declare target
#pragma omp declare simd uniform(factor) notinbranch
int scaled(int value, int factor) { return value * factor + 1; }
#pragma omp end declare target

int main() {
  constexpr int n = 128;
  alignas(64) float x[n];
  int y[n], position = 0, last = -1;
  float sum = 0;

#pragma omp target simd simdlen(8) map(from : x)
  for (int i = 0; i < n; ++i)
    x[i] = i * 0.25f;

#pragma omp target parallel for simd aligned(x : 64) reduction(+ : sum) map(tofrom : sum)
  for (int i = 0; i < n; ++i)
    sum += x[i];

#pragma omp target simd linear(position : 2) safelen(16) map(tofrom : y, position)
  for (int i = 0; i < n; ++i) {
    y[i] = position;
    position += 2;
  }

#pragma omp target map(tofrom : y, last)
  {
#pragma omp simd lastprivate(last)
    for (int i = 0; i < n; ++i) {
      y[i] = scaled(y[i], 3);
      last = y[i];
    }
  }

  int total = 0;
  for (int i = 0; i < n; ++i)
    total += y[i];
  std::printf("sum %.2f total %d position %d last %d\n", sum, total, position, last);
  return sum == 2032.0f && total == 48896 && position == 256 && last == 763 ? 0 : 1;
}
