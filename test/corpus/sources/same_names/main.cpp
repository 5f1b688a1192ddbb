// Exercises: the third file, whose own functions and globals also have those names.
#include "names.h"
#include <cstdio>
#pragma omp begin declare target
static double state = 0.5;
namespace {
double helper(double x) { return x / state; }
} // namespace
#pragma omp end declare target
static double work(double x) {
#pragma omp target map(tofrom : x)
  x = helper(x);
  return x;
}

int main() {
  int first = run_first(5), again = run_first(5);
  int second = run_second(5), nested = nested::second::run(2);
  double third = work(4.0);
  std::printf("%d %d %d %d %.1f\n", first, again, second, nested, third);
  return first == 8 && again == 10 && second == 401 && nested == 100 + 1 && third == 8.0 ? 0 : 1;
}
