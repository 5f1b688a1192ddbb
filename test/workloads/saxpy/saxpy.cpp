// a*x + y in single precision, with strides that come at run time. Bound by memory: next to nothing to gain.
// --size: thousands of elements. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <vector>

static void saxpy(long count, float a, const float *x, int of_x, float *y, int of_y) {
#pragma omp target teams distribute parallel for
  for (long i = 0; i < count; ++i)
    y[i * of_y] += a * x[i * of_x];
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "saxpy", 50, 4000);
  long of_x = workload_setting(&run, "stride-x", 1, 1, 1);
  long of_y = workload_setting(&run, "stride-y", 1, 1, 1);
  long launches = workload_setting(&run, "launches", 1, 5, 200);
  float a = (float)workload_real_setting(&run, "a", 0.25);
  workload_settings_end(&run);

  long count = run.size * 1000;
  std::vector<float> xs(count * of_x), ys(count * of_y);
  workload_fill_float(xs.data(), xs.size(), 1, -1, 1);
  workload_fill_float(ys.data(), ys.size(), 2, -1, 1);
  std::vector<float> first = ys;
  float *x = xs.data(), *y = ys.data();

  workload_timer timer = workload_timer_new("saxpy");
#pragma omp target data map(to : x[0 : count * of_x]) map(tofrom : y[0 : count * of_y])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    saxpy(count, a, x, (int)of_x, y, (int)of_y);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "elements");
  size_t step = workload_check_stride(&run, ys.size());
  for (size_t at = 0; at < ys.size(); at += step) {
    double added = at % of_y == 0 ? (double)launches * a * xs[at / of_y * of_x] : 0;
    workload_check_value(&check, at, y[at], first[at] + added, 1e-5, 1e-6 * launches);
  }
  workload_check_end(&check);
  workload_checksum("elements", y, ys.size() * sizeof(float));
  workload_timer_end(&timer);
  return workload_end(&run);
}
