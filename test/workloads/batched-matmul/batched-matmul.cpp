// A batch of small matrix products, alpha*A*B + beta*C, one element of a result a thread. Extents and leading
// dimensions come at run time. Known values remove the divisions, and unroll the sum.
// --size: products. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <vector>

static void multiply(const float *a, const float *b, float *c, int rows, int columns, int inner, int of_a,
                     int of_b, int of_c, float alpha, float beta, int products) {
#pragma omp target teams distribute parallel for collapse(3)
  for (int product = 0; product < products; ++product)
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        const float *left = a + (long)product * rows * of_a + i * of_a;
        const float *right = b + (long)product * inner * of_b + j;
        float *out = c + (long)product * rows * of_c + i * of_c + j;
        float sum = 0;
        for (int k = 0; k < inner; ++k)
          sum += left[k] * right[k * of_b];
        *out = alpha * sum + beta * *out;
      }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "batched-matmul", 100, 4000);
  int rows = (int)workload_setting(&run, "rows", 1, 8, 8);
  int columns = (int)workload_setting(&run, "columns", 1, 8, 8);
  int inner = (int)workload_setting(&run, "inner", 1, 8, 8);
  int padding = (int)workload_setting(&run, "padding", 0, 0, 0);
  long launches = workload_setting(&run, "launches", 1, 5, 400);
  float alpha = (float)workload_real_setting(&run, "alpha", 0.75);
  float beta = (float)workload_real_setting(&run, "beta", 0.5);
  workload_settings_end(&run);

  long products = run.size;
  int of_a = inner + padding, of_b = columns + padding, of_c = columns + padding;
  std::vector<float> lefts(products * rows * of_a), rights(products * inner * of_b);
  std::vector<float> outs(products * rows * of_c);
  workload_fill_float(lefts.data(), lefts.size(), 1, -1, 1);
  workload_fill_float(rights.data(), rights.size(), 2, -1, 1);
  workload_fill_float(outs.data(), outs.size(), 3, -1, 1);
  std::vector<float> first = outs;
  float *a = lefts.data(), *b = rights.data(), *c = outs.data();
  size_t sizes[3] = {lefts.size(), rights.size(), outs.size()};

  workload_timer timer = workload_timer_new("multiply");
#pragma omp target data map(to : a[0 : sizes[0]], b[0 : sizes[1]]) map(tofrom : c[0 : sizes[2]])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    multiply(a, b, c, rows, columns, inner, of_a, of_b, of_c, alpha, beta, (int)products);
    workload_timer_stop(&timer);
  }

  // c after n launches is beta^n * first + (1 + beta + ... + beta^(n-1)) * alpha * A*B.
  double faded = pow((double)beta, (double)launches);
  double times = beta == 1 ? (double)launches : (1 - faded) / (1 - (double)beta);
  workload_check check = workload_check_begin(&run, "products");
  size_t step = workload_check_stride(&run, products * rows * columns);
  for (long at = 0; at < products * rows * columns; at += step) {
    long product = at / (rows * columns), row = at / columns % rows, column = at % columns;
    double sum = 0;
    for (int k = 0; k < inner; ++k)
      sum += (double)lefts[(product * rows + row) * of_a + k] * rights[(product * inner + k) * of_b + column];
    long place = (product * rows + row) * of_c + column;
    workload_check_value(&check, place, outs[place], faded * first[place] + times * alpha * sum, 1e-5,
                         1e-6 * inner * times);
  }
  workload_check_end(&check);
  bool untouched = true;
  for (long line = 0; line < products * rows; ++line)
    for (int at = columns; at < of_c; ++at)
      untouched &= outs[line * of_c + at] == first[line * of_c + at];
  workload_check_that(&run, "padding-is-untouched", untouched);
  workload_checksum("products", c, outs.size() * sizeof(float));
  workload_timer_end(&timer);
  return workload_end(&run);
}
