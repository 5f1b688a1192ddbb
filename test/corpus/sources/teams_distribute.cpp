// Exercises: target teams, distribute, distribute parallel for, distribute simd, distribute parallel
// for simd, combined and nested, with dist_schedule, collapse, num_teams and thread_limit.
#include <cstdio>

int main() {
  constexpr int n = 210;
  int a[n], b[n], c[n];
  int last = 0, teams = 0;

#pragma omp target teams distribute num_teams(2)
  for (int i = 0; i < n; ++i)
    a[i] = i;
#pragma omp target teams distribute parallel for thread_limit(4) dist_schedule(static, 16)
  for (int i = 0; i < n; ++i)
    b[i] = a[i] + 1;
#pragma omp target teams distribute simd map(to : b)
  for (int i = 0; i < n; ++i)
    c[i] = b[i] * 2;
#pragma omp target teams distribute parallel for simd collapse(2) map(tofrom : c)
  for (int i = 0; i < 14; ++i)
    for (int j = 0; j < 15; ++j)
      c[i * 15 + j] -= i;

#pragma omp target map(tofrom : a) map(to : c)
#pragma omp teams num_teams(1)
  {
#pragma omp distribute
    for (int block = 0; block < 7; ++block) {
#pragma omp parallel for schedule(static)
      for (int i = block * 30; i < (block + 1) * 30; ++i)
        a[i] += c[i];
    }
  }

#pragma omp target teams num_teams(1) thread_limit(2) map(tofrom : teams) reduction(+ : teams)
  teams += 1;

#pragma omp target teams distribute parallel for lastprivate(last) map(tofrom : last)
  for (int i = 0; i < n; ++i)
    last = i * 10;

  long sum_a = 0, sum_c = 0;
  for (int i = 0; i < n; ++i) {
    sum_a += a[i];
    sum_c += c[i];
  }
  std::printf("a %ld c %ld teams %d last %d\n", sum_a, sum_c, teams, last);
  return sum_a == 64890 && sum_c == 42945 && teams == 1 && last == 2090 ? 0 : 1;
}
