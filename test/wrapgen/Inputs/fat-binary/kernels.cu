// Kernels and variables in CUDA and in HIP.
#include "language.h"

__device__ int counter = 7;
__constant__ int table[4] = {1, 2, 3, 4};

__global__ void add(int *value) { *value += counter + table[*value & 3]; }
__global__ void reset(int *value, int to) { *value = to; }

void launch(int *value) {
  reset<<<1, 1>>>(value, 3);
  add<<<1, 1>>>(value);
}
