// y = alpha*A*x + beta*y, one row of A a thread. An honest null: the sum of a row may not be reordered
// and the matrix has to come from memory.
// --size: rows and columns. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <vector>

static void gemv(long rows, long columns, double alpha, const double *matrix, long leading, const double *x,
                 double beta, double *y) {
#pragma omp target teams distribute parallel for
  for (long row = 0; row < rows; ++row) {
    double sum = 0;
    for (long column = 0; column < columns; ++column)
      sum += matrix[row * leading + column] * x[column];
    y[row] = alpha * sum + beta * y[row];
  }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "gemv", 200, 4000);
  long padding = workload_setting(&run, "padding", 0, 8, 8);
  long launches = workload_setting(&run, "launches", 1, 10, 120);
  double alpha = workload_real_setting(&run, "alpha", 1.5);
  double beta = workload_real_setting(&run, "beta", 0.5);
  workload_settings_end(&run);

  long extent = run.size, leading = extent + padding;
  std::vector<double> values(extent * leading), inputs(extent), outputs(extent, 1.0);
  workload_fill(values.data(), values.size(), 1, -1, 1);
  workload_fill(inputs.data(), inputs.size(), 2, -1, 1);
  double *matrix = values.data(), *x = inputs.data(), *y = outputs.data();

  workload_timer timer = workload_timer_new("gemv");
#pragma omp target data map(to : matrix[0 : extent * leading], x[0 : extent]) map(tofrom : y[0 : extent])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    gemv(extent, extent, alpha, matrix, leading, x, beta, y);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "vector");
  for (long row = 0; row < extent; ++row) {
    long double sum = 0, want = 1;
    for (long column = 0; column < extent; ++column)
      sum += (long double)matrix[row * leading + column] * x[column];
    for (long launch = 0; launch < launches; ++launch)
      want = alpha * sum + beta * want;
    workload_check_value(&check, row, y[row], (double)want, 1e-10, 1e-10);
  }
  workload_check_end(&check);
  workload_checksum("vector", y, outputs.size() * sizeof(double));
  workload_timer_end(&timer);
  return workload_end(&run);
}
