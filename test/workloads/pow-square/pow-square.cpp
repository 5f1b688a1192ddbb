// pow(x, p) with a run-time p that is 2. Shown apart from the others: all there is to win is a library
// call that becomes one multiplication, and that rewrite moves some results by one unit in the last place.
// --size: thousands of elements. Results: equal bits as long as pow stays a call of the same library.
#include "workload.h"

#include <cmath>
#include <vector>

static void raise(const double *x, double *y, double exponent, long count) {
#pragma omp target teams distribute parallel for
  for (long i = 0; i < count; ++i)
    y[i] = std::pow(x[i], exponent);
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "pow-square", 50, 2000);
  long launches = workload_setting(&run, "launches", 1, 5, 160);
  double exponent = workload_real_setting(&run, "exponent", 2.0);
  workload_settings_end(&run);

  long count = run.size * 1000;
  std::vector<double> inputs(count), outputs(count, 0.0);
  workload_fill(inputs.data(), inputs.size(), 1, 0.001, 1000);
  double *x = inputs.data(), *y = outputs.data();

  workload_timer timer = workload_timer_new("raise");
#pragma omp target data map(to : x[0 : count]) map(from : y[0 : count])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    raise(x, y, exponent, count);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "powers");
  size_t step = workload_check_stride(&run, outputs.size());
  for (size_t i = 0; i < outputs.size(); i += step)
    workload_check_value(&check, i, y[i], (double)powl(x[i], exponent), 1e-14, 0);
  workload_check_end(&check);
  workload_checksum("powers", y, outputs.size() * sizeof(double));
  workload_timer_end(&timer);
  return workload_end(&run);
}
