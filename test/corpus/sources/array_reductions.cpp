// Exercises: reduction of whole arrays, array sections, a user-defined declare reduction, and an
// inscan reduction.
#include <cstdio>

struct extent {
  int low = 1 << 30;
  int high = -(1 << 30);
};

#pragma omp declare reduction(merge : extent : omp_out = extent{                                   \
        omp_in.low < omp_out.low ? omp_in.low : omp_out.low,                                       \
        omp_in.high > omp_out.high ? omp_in.high : omp_out.high}) initializer(omp_priv = extent{})

int main() {
  constexpr int n = 120;
  int histogram[8] = {0};
  int rows[4][6] = {{0}};
  extent range;
  int values[n], prefix[n], running = 0;
  for (int i = 0; i < n; ++i)
    values[i] = (i * 37) % 101 - 20;

#pragma omp target parallel for reduction(+ : histogram) map(to : values)
  for (int i = 0; i < n; ++i)
    histogram[(values[i] + 20) % 8] += 1;

  int *first = &rows[0][0];
#pragma omp target teams distribute parallel for reduction(+ : first[0 : 24])
  for (int i = 0; i < n; ++i)
    first[i % 24] += i;

#pragma omp target parallel for reduction(merge : range) map(to : values)
  for (int i = 0; i < n; ++i) {
    range.low = values[i] < range.low ? values[i] : range.low;
    range.high = values[i] > range.high ? values[i] : range.high;
  }

#pragma omp target map(to : values) map(from : prefix) map(tofrom : running)
#pragma omp simd reduction(inscan, + : running)
  for (int i = 0; i < n; ++i) {
    running += values[i];
#pragma omp scan inclusive(running)
    prefix[i] = running;
  }

  for (int count : histogram)
    std::printf("%d ", count);
  std::printf("rows %d %d range %d..%d running %d %d\n", rows[0][0], rows[3][5], range.low,
              range.high, running, prefix[n / 2]);
  int total = 0;
  for (int count : histogram)
    total += count;
  return total == n && histogram[2] == 16 && running == 3523 && rows[0][0] == 240 && rows[3][5] == 355 && range.low == -20 &&
                 range.high == 80 && prefix[n - 1] == running
             ? 0
             : 1;
}
