// Exercises: if clauses (with and without a directive name), device(n) with constant, variable and
// initial device, and globals kept per device.
#include <cstdio>
#include <omp.h>

int hits = 0;
#pragma omp declare target to(hits)

static int square_if(bool offload, int x) {
  int result = 0;
#pragma omp target if (offload) map(tofrom : result)
  result = x * x;
  return result;
}

int main() {
  int values[4] = {0};
  int sum = 0;
  for (int device = 0; device < 4; ++device) {
#pragma omp target device(device) map(tofrom : values[device])
    {
      hits += device + 1;
      values[device] = 10 * hits;
    }
  }
  /* Where the regions run on the host all four share one `hits`. */
  const bool shared = values[3] == 100;
  for (int device = 0; device < 4; ++device)
    sum += shared ? 10 * (device + 1) : values[device];

  int initial = 0;
#pragma omp target device(omp_get_initial_device()) map(tofrom : initial)
  initial = omp_is_initial_device() ? 1 : 0;

  int conditional = 0;
#pragma omp target parallel for if (target : sum > 5) if (parallel : sum < 5)                      \
    reduction(+ : conditional) device(1)
  for (int i = 0; i < 10; ++i)
    conditional += i;

#pragma omp target update from(hits) if (target update : sum < 0)
  std::printf("sum %d initial %d conditional %d squares %d %d\n", sum, initial, conditional,
              square_if(true, 9), square_if(false, 8));
  return sum == 100 && initial == 1 && conditional == 45 ? 0 : 1;
}
