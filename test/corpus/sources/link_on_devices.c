// Exercises: declare target link on several devices at once: each device has its own image with its
// own reference pointer, and its own copy of the data that is mapped to it.
// Without a device it prints something else: there is one copy
#include <stdio.h>

enum { DEVICES = 3, N = 4 };

int values[N];
#pragma omp declare target link(values)

int main(void) {
  // Every device loads its image before anything is mapped.
  int loaded = 0;
  for (int device = 0; device < DEVICES; ++device) {
#pragma omp target device(device) map(tofrom : loaded)
    loaded += 1;
  }

  for (int device = 0; device < DEVICES; ++device) {
    for (int i = 0; i < N; ++i)
      values[i] = 100 * device + i;
#pragma omp target enter data map(to : values) device(device)
  }

  int sums[DEVICES] = {0}, changed[DEVICES];
  for (int device = DEVICES - 1; device >= 0; --device) {
#pragma omp target device(device) map(tofrom : sums)
    for (int i = 0; i < N; ++i) {
      sums[device] += values[i];
      values[i] += device + 1;
    }
  }
  for (int device = 0; device < DEVICES; ++device) {
#pragma omp target exit data map(from : values) device(device)
    changed[device] = values[N - 1];
  }

  printf("loaded %d sums %d %d %d changed %d %d %d\n", loaded, sums[0], sums[1], sums[2], changed[0],
         changed[1], changed[2]);
  return loaded == DEVICES && sums[DEVICES - 1] > 0 ? 0 : 1;
}
