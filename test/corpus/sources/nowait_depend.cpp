// Exercises: target nowait, depend (in, out, inout) between regions and data directives, taskwait,
// taskgroup.
#include <cstdio>

int main() {
  constexpr int n = 50;
  int a[n], b[n], c[n], sum = 0;

#pragma omp target enter data map(alloc : a, b) nowait depend(out : a, b)
#pragma omp target nowait depend(inout : a) map(from : a)
  for (int i = 0; i < n; ++i)
    a[i] = i;
#pragma omp target nowait depend(inout : b) map(from : b)
  for (int i = 0; i < n; ++i)
    b[i] = 2 * i;
#pragma omp target teams distribute parallel for nowait depend(in : a, b) depend(out : c)          \
    map(to : a, b) map(from : c)
  for (int i = 0; i < n; ++i)
    c[i] = a[i] + b[i];
#pragma omp target update nowait from(b) depend(in : b)
#pragma omp target exit data map(from : a) map(delete : b) nowait depend(inout : a, b)
#pragma omp taskwait

#pragma omp taskgroup
  {
#pragma omp target nowait map(to : c) map(tofrom : sum) depend(inout : sum)
    for (int i = 0; i < n; ++i)
      sum += c[i];
#pragma omp target nowait map(tofrom : sum) depend(inout : sum)
    sum *= 2;
  }

  int independent[4] = {0};
  for (int i = 0; i < 4; ++i) {
#pragma omp target nowait firstprivate(i) map(tofrom : independent[i])
    independent[i] = 10 + i;
  }
#pragma omp taskwait

  std::printf("a %d b %d c %d sum %d", a[n - 1], b[n - 1], c[n - 1], sum);
  for (int value : independent)
    std::printf(" %d", value);
  std::printf("\n");
  return a[49] == 49 && b[49] == 98 && c[49] == 147 && sum == 7350 && independent[3] == 13 ? 0 : 1;
}
