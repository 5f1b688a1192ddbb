// Exercises: requires unified_address, dynamic_allocators and
// atomic_default_mem_order together: bits of one record on the host, nothing on the device.
#include <cstdio>

#pragma omp requires unified_address dynamic_allocators
#pragma omp requires atomic_default_mem_order(acq_rel)

int main() {
  int sum = 0, seen = 0;
#pragma omp target teams distribute parallel for map(tofrom : sum)
  for (int i = 0; i < 100; ++i) {
#pragma omp atomic
    sum += i;
  }
#pragma omp target map(from : seen) map(to : sum)
  {
#pragma omp atomic read
    seen = sum;
  }
  std::printf("sum %d seen %d\n", sum, seen);
  return sum == 4950 && seen == 4950 ? 0 : 1;
}
