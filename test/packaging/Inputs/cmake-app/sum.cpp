// Adds numbers on the device.
double sum_to(int n) {
  double sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 1; i <= n; ++i)
    sum += i;
  return sum;
}
