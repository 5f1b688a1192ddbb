// Many products of small dense matrices, all of one run-time size. Known extents unroll all three loops
// and keep a whole matrix in registers.
// --size: thousands of products. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <vector>

static void multiply(const double *a, const double *b, double *c, int rows, int inner, int columns,
                     long products) {
#pragma omp target teams distribute parallel for
  for (long product = 0; product < products; ++product) {
    const double *left = a + product * rows * inner;
    const double *right = b + product * inner * columns;
    double *out = c + product * rows * columns;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        double sum = 0;
        for (int k = 0; k < inner; ++k)
          sum += left[i * inner + k] * right[k * columns + j];
        out[i * columns + j] = sum;
      }
  }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "small-matmul", 4, 5);
  int rows = (int)workload_setting(&run, "rows", 1, 4, 4);
  int inner = (int)workload_setting(&run, "inner", 1, 4, 4);
  int columns = (int)workload_setting(&run, "columns", 1, 4, 4);
  long launches = workload_setting(&run, "launches", 1, 10, 25000);
  workload_settings_end(&run);

  long products = run.size * 1000;
  std::vector<double> lefts(products * rows * inner), rights(products * inner * columns);
  std::vector<double> outs(products * rows * columns, 0.0);
  workload_fill(lefts.data(), lefts.size(), 1, -1, 1);
  workload_fill(rights.data(), rights.size(), 2, -1, 1);
  double *a = lefts.data(), *b = rights.data(), *c = outs.data();
  size_t sizes[3] = {lefts.size(), rights.size(), outs.size()};

  workload_timer timer = workload_timer_new("multiply");
#pragma omp target data map(to : a[0 : sizes[0]], b[0 : sizes[1]]) map(from : c[0 : sizes[2]])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    multiply(a, b, c, rows, inner, columns, products);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "products");
  size_t step = workload_check_stride(&run, outs.size());
  for (size_t at = 0; at < outs.size(); at += step) {
    size_t product = at / (rows * columns), row = at / columns % rows, column = at % columns;
    long double want = 0;
    for (int k = 0; k < inner; ++k)
      want += (long double)lefts[(product * rows + row) * inner + k] *
              rights[(product * inner + k) * columns + column];
    workload_check_value(&check, at, outs[at], (double)want, 1e-13, 1e-13 * inner);
  }
  workload_check_end(&check);
  workload_checksum("products", c, outs.size() * sizeof(double));
  workload_timer_end(&timer);
  return workload_end(&run);
}
