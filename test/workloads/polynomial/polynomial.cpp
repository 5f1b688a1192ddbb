// A polynomial of run-time degree at many points, by Horner's rule. The degree is the trip count of the
// inner loop: known, the loop unrolls and the coefficients stay in registers.
// --size: thousands of points. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <vector>

static void evaluate(const double *x, double *y, const double *coefficients, int degree, long points) {
#pragma omp target teams distribute parallel for
  for (long i = 0; i < points; ++i) {
    double value = coefficients[degree];
    for (int k = degree - 1; k >= 0; --k)
      value = value * x[i] + coefficients[k];
    y[i] = value;
  }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "polynomial", 64, 400);
  int degree = (int)workload_setting(&run, "degree", 0, 12, 12);
  long launches = workload_setting(&run, "launches", 1, 10, 2500);
  workload_settings_end(&run);

  long points = run.size * 1000;
  std::vector<double> inputs(points), outputs(points, 0.0), terms(degree + 1);
  workload_fill(inputs.data(), inputs.size(), 1, -1, 1);
  workload_fill(terms.data(), terms.size(), 2, -2, 2);
  double *x = inputs.data(), *y = outputs.data(), *coefficients = terms.data();

  workload_timer timer = workload_timer_new("evaluate");
#pragma omp target data map(to : x[0 : points], coefficients[0 : degree + 1]) map(from : y[0 : points])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    evaluate(x, y, coefficients, degree, points);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "values");
  size_t stride = workload_check_stride(&run, outputs.size());
  for (size_t i = 0; i < outputs.size(); i += stride) {
    long double value = 0, power = 1; // more bits, and powers instead of Horner's rule
    for (int k = 0; k <= degree; ++k, power *= inputs[i])
      value += terms[k] * power;
    workload_check_value(&check, i, outputs[i], (double)value, 1e-12, 1e-12);
  }
  workload_check_end(&check);
  workload_checksum("values", y, outputs.size() * sizeof(double));
  workload_timer_end(&timer);
  return workload_end(&run);
}
