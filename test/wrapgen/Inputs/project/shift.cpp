int shift(int value) {
#pragma omp target map(tofrom : value)
  value += 100;
  return value;
}
