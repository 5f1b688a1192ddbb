// Uses the library's host function only, as a user of a shared library does.
#include <cstdio>

int library_run(int by);

int main() {
  int own = 0;
#pragma omp target map(from : own)
  own = 7;
  std::printf("own %d library %d\n", own, library_run(2));
}
