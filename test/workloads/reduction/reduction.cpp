// A weighted dot product over strided vectors, and the largest term. Known strides and powers simplify what a
// thread does; what the runtime does to add up over threads and teams stays.
// --size: thousands of elements. Results: equal bits, always: terms are whole numbers, whose sums are exact in
// any order.
#include "workload.h"

#include <vector>

struct totals {
  double sum, largest;
};

static totals reduce(const double *x, const double *y, long count, int of_x, int of_y, int power, double scale,
                     double shift) {
  double sum = 0, largest = -1e300;
#pragma omp target teams distribute parallel for reduction(+ : sum) reduction(max : largest)                      \
    map(tofrom : sum, largest)
  for (long i = 0; i < count; ++i) {
    double base = x[i * of_x] + shift, term = scale;
    for (int factor = 0; factor < power; ++factor)
      term *= base;
    term *= y[i * of_y];
    sum += term;
    largest = largest < term ? term : largest;
  }
  return {sum, largest};
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "reduction", 20, 4000);
  long of_x = workload_setting(&run, "stride-x", 1, 1, 1);
  long of_y = workload_setting(&run, "stride-y", 1, 1, 1);
  long power = workload_setting(&run, "power", 0, 3, 3);
  long shift = workload_setting(&run, "shift", 0, 2, 2);
  long launches = workload_setting(&run, "launches", 1, 5, 100);
  workload_settings_end(&run);
  // The largest sum of whole numbers stays below 2^53.
  long count = run.size * 1000;
  if (power > 4 || shift > 8 || of_x > 64 || of_y > 64 || count > 100000000) {
    fprintf(stderr, "reduction: the sums would not be exact\n");
    return 2;
  }

  std::vector<double> xs(count * of_x), ys(count * of_y);
  for (size_t i = 0; i < xs.size(); ++i)
    xs[i] = (double)(workload_random(1, i) % 9);
  for (size_t i = 0; i < ys.size(); ++i)
    ys[i] = (double)(workload_random(2, i) % 9) - 4;
  double *x = xs.data(), *y = ys.data();
  std::vector<totals> found(launches);

  workload_timer timer = workload_timer_new("reduce");
#pragma omp target data map(to : x[0 : count * of_x], y[0 : count * of_y])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    found[launch] = reduce(x, y, count, (int)of_x, (int)of_y, (int)power, 2, (double)shift);
    workload_timer_stop(&timer);
  }

  long sum = 0, largest = INT64_MIN;
  for (long i = 0; i < count; ++i) {
    long term = 2 * (long)y[i * of_y];
    for (long factor = 0; factor < power; ++factor)
      term *= (long)x[i * of_x] + shift;
    sum += term;
    largest = largest < term ? term : largest;
  }
  workload_check check = workload_check_begin(&run, "totals");
  for (long launch = 0; launch < launches; ++launch) {
    workload_check_value(&check, 2 * launch, found[launch].sum, (double)sum, 0, 0);
    workload_check_value(&check, 2 * launch + 1, found[launch].largest, (double)largest, 0, 0);
  }
  workload_check_end(&check);
  workload_checksum("totals", found.data(), found.size() * sizeof(totals));
  workload_timer_end(&timer);
  return workload_end(&run);
}
