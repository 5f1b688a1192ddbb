// Template kernels that both units instantiate, some with the same arguments.
#ifndef KERNELS_H
#define KERNELS_H

template <typename T> T scaled_sum(const T *values, int n, T factor) {
  T sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : values[0 : n])
  for (int i = 0; i < n; ++i)
    sum += factor * values[i];
  return sum;
}

template <typename T, int N> struct filter {
  T taps[N];
  void apply(T *values, int n) {
#pragma omp target map(to : this[0 : 1]) map(tofrom : values[0 : n])
    for (int i = 0; i + N <= n; ++i) {
      T sum = 0;
      for (int j = 0; j < N; ++j)
        sum += taps[j] * values[i + j];
      values[i] = sum;
    }
  }
};

#pragma omp begin declare target
template <typename T> struct usage {
  static int count;
};
template <typename T> int usage<T>::count = 0;
#pragma omp end declare target

template <typename T> int use() {
  int seen = 0;
#pragma omp target map(from : seen)
  seen = ++usage<T>::count;
  return seen;
}

int from_other_unit();
#endif
