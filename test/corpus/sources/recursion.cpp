// Exercises: direct, mutual and template recursion in device code, and a region in a recursive host
// function.
#include <cstdio>

#pragma omp begin declare target
static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
bool is_odd(unsigned n);
bool is_even(unsigned n) { return n == 0 || is_odd(n - 1); }
bool is_odd(unsigned n) { return n != 0 && is_even(n - 1); }
template <int N> struct factorial {
  static int value() { return N * factorial<N - 1>::value(); }
};
template <> struct factorial<0> {
  static int value() { return 1; }
};
int ackermann(int m, int n) {
  if (m == 0)
    return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
#pragma omp end declare target

static int descend(int depth) {
  int result = 0;
#pragma omp target map(from : result)
  result = depth * depth;
  return depth == 0 ? result : result + descend(depth - 1);
}

int main() {
  int f = 0, a = 0, fact = 0;
  bool even = false;
#pragma omp target map(from : f, a, fact, even)
  {
    f = fibonacci(15);
    even = is_even(40) && !is_odd(12);
    fact = factorial<6>::value();
    a = ackermann(2, 3);
  }
  int d = descend(5);
  std::printf("%d %d %d %d %d\n", f, even, fact, a, d);
  return f == 610 && even && fact == 720 && a == 9 && d == 55 ? 0 : 1;
}
