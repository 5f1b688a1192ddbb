// Exercises: one region text included several times: into two functions, twice into one function
// (same file and line, so the names get a count), into a template, and into a second unit.
#include <cstdio>

int in_other_unit(int value);

#define FACTOR 2
static int twice(int value) {
#include "body.inc"
#include "body.inc"
  return value;
}
template <typename T> T generic(T value) {
#include "body.inc"
  return value;
}
#undef FACTOR
#define FACTOR 10
static int ten(int value) {
#include "body.inc"
  return value;
}

int main() {
  int a = twice(1), b = generic(4), c = ten(3), d = in_other_unit(5);
  double e = generic(0.25);
  std::printf("%d %d %d %d %.2f\n", a, b, c, d, e);
  return a == 7 && b == 9 && c == 31 && d == 501 && e == 1.5 ? 0 : 1;
}
