// Exercises: depend with depobj, iterators, array sections, mutexinoutset and inoutset, and taskwait
// with depend, around regions.
#include <cstdio>
#include <omp.h>

int main() {
  int values[8] = {0}, sum = 0, both = 0;
  omp_depend_t object;
#pragma omp depobj(object) depend(inout : sum)

  for (int i = 0; i < 8; ++i) {
#pragma omp target nowait depend(out : values[i]) map(tofrom : values[i]) firstprivate(i)
    values[i] = i + 1;
  }
#pragma omp target nowait depend(iterator(int k = 0 : 8), in : values[k]) depend(depobj : object)  \
    map(to : values) map(tofrom : sum)
  for (int i = 0; i < 8; ++i)
    sum += values[i];
#pragma omp depobj(object) update(in)
#pragma omp target nowait depend(depobj : object) map(to : sum) map(tofrom : both)
  both += sum;
#pragma omp taskwait depend(in : sum)
#pragma omp taskwait

  int exclusive = 0;
  for (int i = 0; i < 4; ++i) {
#pragma omp target nowait depend(mutexinoutset : exclusive) map(tofrom : exclusive)
    exclusive += 5;
  }
#pragma omp taskwait
#pragma omp target depend(inoutset : exclusive) map(tofrom : exclusive)
  exclusive += 1;
#pragma omp depobj(object) destroy
  std::printf("sum %d both %d exclusive %d\n", sum, both, exclusive);
  return sum == 36 && both == 36 && exclusive == 21 ? 0 : 1;
}
