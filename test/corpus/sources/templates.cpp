// Exercises: regions in function templates, member functions of class templates, with type, value
// and template parameters, explicit specialisation and several instantiations.
#include <cstdio>

template <typename T> T sum_of(const T *values, int n) {
  T sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : values[0 : n])
  for (int i = 0; i < n; ++i)
    sum += values[i];
  return sum;
}
template <> bool sum_of<bool>(const bool *values, int n) {
  bool any = false;
#pragma omp target map(tofrom : any) map(to : values[0 : n])
  for (int i = 0; i < n; ++i)
    any = any || values[i];
  return any;
}

template <int N, typename Operation> int fold(Operation operation) {
  int result = 0;
#pragma omp target map(tofrom : result)
  for (int i = 0; i < N; ++i)
    result = operation(result, i);
  return result;
}

struct plus {
  int operator()(int a, int b) const { return a + b; }
};

template <typename T> struct add_one {
  T operator()(T a) const { return a + T(1); }
};
template <template <typename> class F, typename... Ts> struct applied {
  double all(Ts... values) {
    double result = 0;
#pragma omp target map(tofrom : result)
    result = (0.0 + ... + static_cast<double>(F<Ts>()(values)));
    return result;
  }
};

int main() {
  int whole[5] = {1, 2, 3, 4, 5};
  double real[3] = {0.5, 0.25, 0.25};
  bool flags[2] = {false, true};
  int a = sum_of(whole, 5);
  double b = sum_of(real, 3);
  bool c = sum_of(flags, 2);
  int d = fold<10>(plus{}), e = fold<4>([](int x, int y) { return 2 * x + y; });
  double f = applied<add_one, int, double, short>().all(1, 2.5, 3);
  std::printf("%d %.2f %d %d %d %.1f\n", a, b, c, d, e, f);
  return a == 15 && b == 1.0 && c && d == 45 && e == 11 && f == 9.5 ? 0 : 1;
}
