// Exercises: omp_target_alloc and omp_target_memcpy, is_device_ptr, use_device_ptr.
#include <omp.h>
#include <stdio.h>

#define N 100

static void fill(int *device, int from) {
#pragma omp target is_device_ptr(device)
  for (int i = 0; i < N; ++i)
    device[i] = from + i;
}

int main(void) {
  int host[N], mapped[N];
  int target = omp_get_default_device(), initial = omp_get_initial_device();
  int *device = omp_target_alloc(sizeof host, target);
  if (!device)
    return 1;
  fill(device, 7);
  if (omp_target_memcpy(host, device, sizeof host, 0, 0, initial, target))
    return 1;

  for (int i = 0; i < N; ++i)
    mapped[i] = 1;
  int *pointer = mapped;
#pragma omp target data map(tofrom : pointer[0 : N]) use_device_ptr(pointer)
  {
    fill(pointer, 1000);
#pragma omp target teams distribute parallel for is_device_ptr(pointer, device)
    for (int i = 0; i < N; ++i)
      pointer[i] += device[i];
  }
  omp_target_free(device, target);

  int sum = 0, sum_mapped = 0;
  for (int i = 0; i < N; ++i) {
    sum += host[i];
    sum_mapped += mapped[i];
  }
  printf("host %d mapped %d\n", sum, sum_mapped);
  return sum == 5650 && sum_mapped == 110600 ? 0 : 1;
}
