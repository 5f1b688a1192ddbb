// Exercises: lambdas called in regions: captures by value, by reference, of this, init captures,
// generic and nested lambdas, and regions inside lambdas.
#include <cstdio>

struct scaler {
  int factor = 3;
  int apply(int x) {
    auto multiply = [this](int y) { return y * factor; };
    int result = 0;
#pragma omp target map(from : result) map(to : x) map(this[ : 1])
    result = multiply(x);
    return result;
  }
};

int main() {
  int base = 10, total = 0, values[8];
  for (int i = 0; i < 8; ++i)
    values[i] = i;

  auto by_value = [base](int x) { return x + base; };
  auto initialised = [twice = base * 2](int x) { return x + twice; };
  auto generic = [](auto a, auto b) { return a > b ? a : b; };
#pragma omp target map(tofrom : total)
  total += by_value(1) + initialised(2) + generic(3, 4) + static_cast<int>(generic(1.5, 0.5));

  auto by_reference = [&](int i) { values[i] += base; };
#pragma omp target teams distribute parallel for map(tofrom : values) map(to : base)
  for (int i = 0; i < 8; ++i)
    by_reference(i);

  auto region_inside = [&total](int x) {
#pragma omp target map(tofrom : total)
    {
      auto nested = [&](int y) { return [y, &x] { return x * y; }(); };
      total += nested(7);
    }
  };
  region_inside(5);
  [](int *p) {
#pragma omp target map(tofrom : p[0 : 1])
    *p += 1;
  }(&total);

  scaler s;
  int sum = 0;
  for (int value : values)
    sum += value;
  int applied = s.apply(14);
  std::printf("total %d sum %d applied %d\n", total, sum, applied);
  return total == 74 && sum == 108 && applied == 42 ? 0 : 1;
}
