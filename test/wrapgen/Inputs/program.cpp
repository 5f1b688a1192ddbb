// Calls the library's host function, and its device function from a target region of its own.
#include <cmath>
#include <cstdio>

#pragma omp declare target
int library_step(int by);
#pragma omp end declare target
int library_run(int by);

int main() {
  int first = library_run(1), second = 0;
  double root = 0;
#pragma omp target map(from : second, root)
  {
    second = library_step(1);
    root = std::cbrt(double(second));
  }
  std::printf("first %d second %d root %.3f\n", first, second, root);
}
