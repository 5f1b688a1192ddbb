// A program with kernels of CUDA or HIP and a region of OpenMP.
#include <cstdio>

int main() {
  int value = 1;
#pragma omp target map(tofrom : value)
  value += 41;
  printf("region %d\n", value);
}
