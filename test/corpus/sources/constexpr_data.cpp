// Exercises: constexpr functions, tables and objects computed at compile time and used in regions,
// if constexpr, static_assert, enumerations and structured bindings.
#include <cstdio>

enum class mode : unsigned char { slow = 1, fast = 200 };

constexpr int power(int base, int exponent) {
  int result = 1;
  while (exponent-- > 0)
    result *= base;
  return result;
}

struct table {
  int values[10];
  constexpr table() : values() {
    for (int i = 0; i < 10; ++i)
      values[i] = power(2, i);
  }
};
constexpr table powers;
static_assert(powers.values[9] == 512);

template <mode M> constexpr int weight() {
  if constexpr (M == mode::fast)
    return 2;
  else
    return 1;
}

int main() {
  constexpr int local = power(3, 4);
  constexpr int list[3] = {local, local + 1, local + 2};
  int sum = 0, runtime = 5;
  mode m = mode::slow;
#pragma omp target map(tofrom : sum, m)
  {
    for (int i = 0; i < 10; ++i)
      sum += powers.values[i] * weight<mode::fast>();
    sum += list[1] + local + power(runtime, 2) + weight<mode::slow>();
    if (m == mode::slow)
      m = mode::fast;
    struct {
      int a, b;
    } pair = {1, 2};
    auto &[a, b] = pair;
    sum += a + b;
  }
  std::printf("sum %d mode %d\n", sum, static_cast<int>(m));
  return sum == 2238 && m == mode::fast ? 0 : 1;
}
