// Exercises: user-defined operators, conversions, literals and a declare reduction over a class with
// them, all called on the device.
#include <cstdio>

#pragma omp begin declare target
struct ratio {
  long num = 0, den = 1;
  constexpr ratio() = default;
  constexpr ratio(long n, long d = 1) : num(n), den(d) {}
  ratio &operator+=(const ratio &o) {
    num = num * o.den + o.num * den;
    den *= o.den;
    long a = num, b = den;
    while (b) {
      long r = a % b;
      a = b;
      b = r;
    }
    num /= a;
    den /= a;
    return *this;
  }
  friend ratio operator*(ratio a, const ratio &b) { return {a.num * b.num, a.den * b.den}; }
  bool operator<(const ratio &o) const { return num * o.den < o.num * den; }
  ratio operator-() const { return {-num, den}; }
  ratio &operator++() { return *this += 1; }
  ratio operator++(int) {
    ratio old = *this;
    ++*this;
    return old;
  }
  long operator[](int i) const { return i ? den : num; }
  explicit operator double() const { return static_cast<double>(num) / den; }
};
constexpr ratio operator""_over_two(unsigned long long n) { return {static_cast<long>(n), 2}; }
#pragma omp end declare target

#pragma omp declare reduction(+ : ratio : omp_out += omp_in) initializer(omp_priv = ratio())

int main() {
  ratio sum, product(1), step;
  bool less = false;
  double real = 0;
#pragma omp target parallel for reduction(+ : sum) map(tofrom : sum)
  for (int i = 1; i <= 64; ++i)
    sum += ratio(1, i % 2 ? 4 : 8);

#pragma omp target map(tofrom : product, step) map(from : less, real)
  {
    for (int i = 1; i < 5; ++i)
      product = product * ratio(i, i + 1);
    less = product < 1_over_two && -product < product;
    ratio before = step++;
    step += before;
    real = static_cast<double>(3_over_two) + step[0] + step[1];
  }
  std::printf("sum %ld/%ld product %ld/%ld less %d real %.1f\n", sum.num, sum.den, product.num,
              product.den, less, real);
  return sum.num == 12 && sum.den == 1 && product.num * 5 == product.den && less && real == 3.5 ? 0
                                                                                               : 1;
}
