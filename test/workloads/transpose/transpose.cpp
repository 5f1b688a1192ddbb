// Permutes the four indices of a tensor: each thread takes its output index apart by division and modulo
// with run-time extents. Known extents turn the divisions into multiplications or shifts.
// --size: extent of the largest index. Results: equal bits always (elements are only moved).
#include "workload.h"

#include <vector>

// The output has extents (d3, d1, d0, d2) where the input has (d0, d1, d2, d3).
static void permute(const double *in, double *out, long d0, long d1, long d2, long d3) {
  long count = d0 * d1 * d2 * d3;
#pragma omp target teams distribute parallel for
  for (long i = 0; i < count; ++i) {
    long i2 = i % d2;
    long i0 = i / d2 % d0;
    long i1 = i / d2 / d0 % d1;
    long i3 = i / d2 / d0 / d1;
    out[i] = in[((i0 * d1 + i1) * d2 + i2) * d3 + i3];
  }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "transpose", 30, 48);
  long d0 = workload_setting(&run, "d0", 1, 5, 12);
  long d1 = workload_setting(&run, "d1", 1, 7, 20);
  long d3 = workload_setting(&run, "d3", 1, 4, 4);
  long launches = workload_setting(&run, "launches", 1, 10, 10000);
  workload_settings_end(&run);

  long d2 = run.size, count = d0 * d1 * d2 * d3;
  std::vector<double> inputs(count), outputs(count, -1.0);
  for (long i = 0; i < count; ++i)
    inputs[i] = (double)i;
  double *in = inputs.data(), *out = outputs.data();

  workload_timer timer = workload_timer_new("permute");
#pragma omp target data map(to : in[0 : count]) map(from : out[0 : count])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    permute(in, out, d0, d1, d2, d3);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "elements");
  size_t at = 0;
  for (long i3 = 0; i3 < d3; ++i3)
    for (long i1 = 0; i1 < d1; ++i1)
      for (long i0 = 0; i0 < d0; ++i0)
        for (long i2 = 0; i2 < d2; ++i2, ++at)
          workload_check_value(&check, at, outputs[at], (double)(((i0 * d1 + i1) * d2 + i2) * d3 + i3), 0, 0);
  workload_check_end(&check);
  workload_checksum("elements", out, outputs.size() * sizeof(double));
  workload_timer_end(&timer);
  return workload_end(&run);
}
