// The four vector kernels of the STREAM benchmark at stride 1: copy, scale, add, triad. An honest null:
// memory decides. In C, on memory of the device itself (omp_target_alloc).
// --size: thousands of elements of each vector. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

static void copy(const double *a, double *c, long count) {
#pragma omp target teams distribute parallel for is_device_ptr(a, c)
  for (long i = 0; i < count; ++i)
    c[i] = a[i];
}

static void scale(double *b, const double *c, double factor, long count) {
#pragma omp target teams distribute parallel for is_device_ptr(b, c)
  for (long i = 0; i < count; ++i)
    b[i] = factor * c[i];
}

static void add(const double *a, const double *b, double *c, long count) {
#pragma omp target teams distribute parallel for is_device_ptr(a, b, c)
  for (long i = 0; i < count; ++i)
    c[i] = a[i] + b[i];
}

static void triad(double *a, const double *b, const double *c, double factor, long count) {
#pragma omp target teams distribute parallel for is_device_ptr(a, b, c)
  for (long i = 0; i < count; ++i)
    a[i] = b[i] + factor * c[i];
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "stream", 50, 4000);
  long rounds = workload_setting(&run, "rounds", 1, 5, 240);
  double factor = workload_real_setting(&run, "factor", 0.41421356237309503);
  workload_settings_end(&run);

  int device = omp_get_default_device(), host = omp_get_initial_device();
  size_t count = (size_t)run.size * 1000, bytes = count * sizeof(double);
  double *first = malloc(bytes), *result = malloc(3 * bytes);
  double *a = omp_target_alloc(bytes, device), *b = omp_target_alloc(bytes, device);
  double *c = omp_target_alloc(bytes, device);
  if (!first || !result || !a || !b || !c) {
    fprintf(stderr, "stream: no memory for four vectors of %zu bytes\n", bytes);
    return 1;
  }
  workload_fill(first, count, 1, 0.5, 1);
  int status = omp_target_memcpy(a, first, bytes, 0, 0, device, host);

  workload_timer timers[4] = {workload_timer_new("copy"), workload_timer_new("scale"), workload_timer_new("add"),
                              workload_timer_new("triad")};
  for (long round = 0; round < rounds; ++round) {
    workload_timer_start(&timers[0]);
    copy(a, c, (long)count);
    workload_timer_stop(&timers[0]);
    workload_timer_start(&timers[1]);
    scale(b, c, factor, (long)count);
    workload_timer_stop(&timers[1]);
    workload_timer_start(&timers[2]);
    add(a, b, c, (long)count);
    workload_timer_stop(&timers[2]);
    workload_timer_start(&timers[3]);
    triad(a, b, c, factor, (long)count);
    workload_timer_stop(&timers[3]);
  }
  double *parts[3] = {a, b, c};
  for (int part = 0; part < 3; ++part)
    status |= omp_target_memcpy(result + part * count, parts[part], bytes, 0, 0, host, device);
  workload_check_that(&run, "copies-between-host-and-device", status == 0);

  workload_check check = workload_check_begin(&run, "vectors");
  size_t step = workload_check_stride(&run, count);
  for (size_t i = 0; i < count; i += step) {
    double want_a = first[i], want_b = 0, want_c = 0;
    for (long round = 0; round < rounds; ++round) {
      want_b = factor * want_a;
      want_c = want_a + want_b;
      want_a = want_b + factor * want_c;
    }
    workload_check_value(&check, i, result[i], want_a, 1e-11, 0);
    workload_check_value(&check, count + i, result[count + i], want_b, 1e-11, 0);
    workload_check_value(&check, 2 * count + i, result[2 * count + i], want_c, 1e-11, 0);
  }
  workload_check_end(&check);
  workload_checksum("vectors", result, 3 * bytes);
  for (int kernel = 0; kernel < 4; ++kernel)
    workload_timer_end(&timers[kernel]);
  for (int part = 0; part < 3; ++part)
    omp_target_free(parts[part], device);
  free(first);
  free(result);
  return workload_end(&run);
}
