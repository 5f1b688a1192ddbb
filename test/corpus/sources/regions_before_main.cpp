// Exercises: regions that run before main and after it, in functions that initialise globals, in
// constructors and destructors of globals, and in a function that #line renumbers. (Regions in a
// lambda that itself initialises a global crash Clang, so there are none.)
#include <cstdio>
#include <cstdlib>

static int compute(int x) {
  int result = 0;
#pragma omp target map(from : result)
  result = x * 3;
  return result;
}

int from_function = compute(7);
static const int chained = compute(from_function) + compute(1);
static int table[3] = {compute(1), compute(2), compute(3)};

struct watcher {
  int value;
  watcher() : value(0) {
    int inner = 0;
#pragma omp target map(from : inner)
    inner = 9;
    value = inner;
  }
  ~watcher() {
    int inner = value;
#pragma omp target map(tofrom : inner)
    inner += 1;
    std::printf("at exit %d\n", inner);
    if (inner != 10)
      std::_Exit(1);
  }
};
static watcher held;

static int &lazily() {
  static int value = compute(100);
  return value;
}

#line 900 "regions_before_main.cpp"
static int renumbered(int x) {
#pragma omp target map(tofrom : x)
  x += 1;
  return x;
}

int main() {
  int c = renumbered(1);
  std::printf("%d %d %d %d %d %d\n", from_function, chained, table[2], held.value, lazily(), c);
  return from_function == 21 && chained == 66 && table[2] == 9 && held.value == 9 &&
                 lazily() == 300 && c == 2
             ? 0
             : 1;
}
