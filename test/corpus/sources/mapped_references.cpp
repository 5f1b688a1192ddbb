// Exercises: references to scalars, arrays, members, temporaries and through parameters in map
// clauses, and copies from device memory at an offset.
#include <cstdio>
#include <omp.h>

struct view {
  int &target;
  const double &ratio;
};

static void through_reference(int (&list)[5], int &total) {
#pragma omp target map(to : list) map(tofrom : total)
  for (int &item : list)
    total += item;
}

int main() {
  int list[5] = {1, 2, 3, 4, 5}, total = 0, aim = 7;
  double ratio = 2.5;
  through_reference(list, total);

  view v{aim, ratio};
  int &reference = v.target;
  const double &factor = v.ratio;
#pragma omp target map(tofrom : reference) map(to : factor)
  reference = static_cast<int>(reference * factor * 2);

  int &&temporary = 41;
#pragma omp target map(tofrom : temporary)
  ++temporary;

  int device = omp_get_default_device(), copied = -1;
  int *storage = static_cast<int *>(omp_target_alloc(4 * sizeof(int), device));
#pragma omp target is_device_ptr(storage)
  for (int i = 0; i < 4; ++i)
    storage[i] = 100 + i;
  omp_target_memcpy(&copied, storage, sizeof copied, 0, 2 * sizeof(int),
                    omp_get_initial_device(), device);
  omp_target_free(storage, device);
  std::printf("total %d aim %d temporary %d copied %d\n", total, aim, temporary, copied);
  return total == 15 && aim == 35 && temporary == 42 && copied == 102 ? 0 : 1;
}
