// Exercises: several regions on one source line, written out by a macro, in one function and in two
// functions of one line: their names get a count.
#include <cstdio>

#define PRAGMA(text) _Pragma(#text)
#define STEP(variable, amount)                                                                     \
  PRAGMA(omp target map(tofrom : variable)) { variable += (amount); }

static int first(int x) { STEP(x, 1) STEP(x, 10) return x; } static int second(int x) { STEP(x, 100) return x; }

template <typename T> T third(T x) { STEP(x, 1) STEP(x, T(2)) STEP(x, T(4)) return x; }

int main() {
  int a = 0, b = 0;
  STEP(a, 1) STEP(b, 2) STEP(a, b) STEP(b, a)
  int c = first(0), d = second(0), e = third(0);
  double f = third(0.5);
  std::printf("%d %d %d %d %d %.1f\n", a, b, c, d, e, f);
  return a == 3 && b == 5 && c == 11 && d == 100 && e == 7 && f == 7.5 ? 0 : 1;
}
