// Exercises: target parallel, target parallel for with every schedule kind, collapse, num_threads,
// lastprivate and ordered.
#include <cstdio>

int main() {
  constexpr int n = 240;
  int a[n], b[n], order[8];
  int last = 0, threads_seen = 0, next = 0;

#pragma omp target parallel for schedule(static)
  for (int i = 0; i < n; ++i)
    a[i] = i;
#pragma omp target parallel for schedule(static, 7)
  for (int i = 0; i < n; ++i)
    a[i] += 1;
#pragma omp target parallel for schedule(dynamic, 3) num_threads(2)
  for (int i = 0; i < n; ++i)
    a[i] *= 2;
#pragma omp target parallel for schedule(guided)
  for (int i = n - 1; i >= 0; i -= 1)
    a[i] -= 3;
#pragma omp target parallel for schedule(nonmonotonic : auto)
  for (int i = 0; i < n; ++i)
    b[i] = a[n - 1 - i];
#pragma omp target parallel for schedule(runtime) lastprivate(last) map(tofrom : last)
  for (int i = 0; i < n; ++i)
    last = b[i];

#pragma omp target parallel for collapse(3) map(tofrom : b)
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 6; ++j)
      for (int k = 0; k < 10; ++k)
        b[(i * 6 + j) * 10 + k] += i + j + k;

#pragma omp target parallel for ordered map(tofrom : next, order)
  for (int i = 0; i < 8; ++i) {
#pragma omp ordered
    order[next++] = i * i;
  }

#pragma omp target parallel num_threads(2) map(tofrom : threads_seen)
#pragma omp atomic
  threads_seen |= 1;

  long sum_a = 0, sum_b = 0;
  for (int i = 0; i < n; ++i) {
    sum_a += a[i];
    sum_b += b[i];
  }
  int ordered = 0;
  for (int i = 0; i < 8; ++i)
    ordered += order[i] * (i + 1);
  std::printf("a %ld b %ld last %d ordered %d seen %d\n", sum_a, sum_b, last, ordered, threads_seen);
  return sum_a == 57120 && sum_b == 59160 && last == -1 && ordered == 924 && threads_seen == 1 ? 0
                                                                                               : 1;
}
