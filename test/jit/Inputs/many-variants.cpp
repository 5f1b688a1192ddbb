// Launches each of 50 kernels once with each of as many values as the argument says, which are as many variants, and prints a sum.
//
// The kernels have no pointers to arrays, so where objects lie does not matter to their variants.
#include <cstdio>
#include <cstdlib>
#include <utility>

enum { KERNELS = 50 };

template <int Kernel> static double launch(int steps) {
  double x = Kernel;
#pragma omp target map(tofrom : x)
  for (int i = 0; i < steps; ++i)
    x = x * 0.5 + Kernel + i;
  return x;
}

template <int... Kernels> static double launch_all(int steps, std::integer_sequence<int, Kernels...>) {
  return (launch<Kernels>(steps) + ...);
}

int main(int, char **arguments) {
  int values = std::atoi(arguments[1]);
  double sum = 0;
  for (int value = 1; value <= values; ++value)
    sum += launch_all(value, std::make_integer_sequence<int, KERNELS>());
  std::printf("%.17g\n", sum);
  return 0;
}
