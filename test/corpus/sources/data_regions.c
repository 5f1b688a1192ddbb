// Exercises: target data, target enter data, target exit data (release, delete), target update
// with sections, and the mapping's reference count.
#include <omp.h>
#include <stdio.h>

#define N 40

static int present(int *p) {
  int on_host = 0;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device();
  return on_host || omp_target_is_present(p, omp_get_default_device());
}

static void add(int *p, int by) {
#pragma omp target map(tofrom : p[0 : N])
  for (int i = 0; i < N; ++i)
    p[i] += by;
}

int main(void) {
  int a[N], bad = 0;
  for (int i = 0; i < N; ++i)
    a[i] = i;

#pragma omp target enter data map(to : a)
  bad |= !present(a);
  add(a, 10);
#pragma omp target data map(tofrom : a)
  add(a, 100);
  bad |= !present(a);
#pragma omp target update from(a[0 : N / 2])
#pragma omp target update from(a[N / 2 : 10])
  int first = 0, second = 0;
  for (int i = 0; i < N / 2; ++i)
    first += a[i];
  for (int i = 0; i < 10; ++i)
    second += a[N / 2 + i];

  a[3] = -5;
#pragma omp target update to(a[3 : 1])
#pragma omp target exit data map(from : a)
  printf("first %d second %d a3 %d last %d\n", first, second, a[3], a[N - 1]);

#pragma omp target enter data map(alloc : a[0 : N])
#pragma omp target enter data map(to : a[0 : N])
#pragma omp target exit data map(release : a)
#pragma omp target exit data map(delete : a)
  return !bad && first == 2390 && second == 1345 && a[3] == -5 && a[N - 1] == 149 ? 0 : 1;
}
