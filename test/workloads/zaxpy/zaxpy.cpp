// y = a*x + y on complex numbers with run-time strides, as the BLAS has it. An honest null at stride 1
// (memory decides) and a regression guard at stride 2, where a known stride tempts a compiler into slow
// gathers and scatters.
// --size: thousands of elements. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <vector>

struct complex_number {
  double real, imaginary;
};

static void zaxpy(long count, complex_number a, const complex_number *x, long stride_x, complex_number *y,
                  long stride_y) {
  double a_real = a.real, a_imaginary = a.imaginary;
#pragma omp target teams distribute parallel for
  for (long i = 0; i < count; ++i) {
    complex_number from = x[i * stride_x], to = y[i * stride_y];
    to.real += a_real * from.real - a_imaginary * from.imaginary;
    to.imaginary += a_real * from.imaginary + a_imaginary * from.real;
    y[i * stride_y] = to;
  }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "zaxpy", 20, 2000);
  long stride = workload_setting(&run, "stride", 1, 1, 1);
  long launches = workload_setting(&run, "launches", 1, 10, 1000);
  double a_real = workload_real_setting(&run, "a-real", 0.75);
  double a_imaginary = workload_real_setting(&run, "a-imaginary", -0.25);
  workload_settings_end(&run);

  long count = run.size * 1000, length = (count - 1) * stride + 1;
  std::vector<complex_number> from(length), before(length);
  workload_fill(&from[0].real, 2 * from.size(), 1, -1, 1);
  workload_fill(&before[0].real, 2 * before.size(), 2, -1, 1);
  std::vector<complex_number> to = before;
  complex_number *x = from.data(), *y = to.data();

  workload_timer timer = workload_timer_new("zaxpy");
#pragma omp target data map(to : x[0 : length]) map(tofrom : y[0 : length])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    zaxpy(count, {a_real, a_imaginary}, x, stride, y, stride);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "elements");
  size_t step = workload_check_stride(&run, to.size());
  for (size_t i = 0; i < to.size(); i += step) {
    complex_number want = before[i]; // elements between the strides stay as they were
    if (i % stride == 0) {
      want.real += launches * (a_real * x[i].real - a_imaginary * x[i].imaginary);
      want.imaginary += launches * (a_real * x[i].imaginary + a_imaginary * x[i].real);
    }
    workload_check_value(&check, 2 * i, y[i].real, want.real, 1e-11, 1e-11);
    workload_check_value(&check, 2 * i + 1, y[i].imaginary, want.imaginary, 1e-11, 1e-11);
  }
  workload_check_end(&check);
  workload_checksum("elements", y, to.size() * sizeof(complex_number));
  workload_timer_end(&timer);
  return workload_end(&run);
}
