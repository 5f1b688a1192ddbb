// Exercises: extern "C" functions and variables under declare target, asm labels, a region in an
// extern "C" function, and main itself as the parent of regions.
#include <cstdio>

extern "C" {
#pragma omp begin declare target
int c_variable = 12;
int c_function(int x) { return x + c_variable; }
extern int renamed asm("another_name");
int renamed = 70;
static int c_static(int x) { return x - 1; }
#pragma omp end declare target

int c_region(int x) {
#pragma omp target map(tofrom : x)
  x = c_function(x) + c_static(x);
  return x;
}
}

namespace wrapped {
extern "C" int c_in_namespace(int x) {
#pragma omp target map(tofrom : x)
  x *= 2;
  return x;
}
} // namespace wrapped

int main() {
  int label = 0;
#pragma omp target map(from : label)
  {
    renamed += 7;
    label = renamed;
    c_variable = 1000;
  }
#pragma omp target update from(c_variable, renamed)
  int a = c_region(5), b = wrapped::c_in_namespace(8);
  std::printf("%d %d %d %d %d\n", label, a, b, c_variable, renamed);
  return label == 77 && a == 1009 && b == 16 && c_variable == 1000 && renamed == 77 ? 0 : 1;
}
