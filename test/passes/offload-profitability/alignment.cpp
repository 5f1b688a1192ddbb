// Pointers whose alignment makes accesses of an NVIDIA GPU wider: where parts of a structure lie side by side at a multiple of what they have together, and
// where a loop goes from one element to the next. AMD's GPUs take 16 bytes from any address, and processors do not care.

// DEFINE: %{for} = -O3 -fopenmp -foffload-lto -nogpulib -Wno-unused-command-line-argument --offload-device-only -emit-llvm -c %s
// RUN: %clangxx %{for} -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_70 --cuda-feature=+ptx63 -o %t.nvptx64.bc
// RUN: %clangxx %{for} -fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target -march=gfx90a -o %t.amdgcn.bc
// RUN: %clangxx %{for} -fopenmp-targets=x86_64-pc-linux-gnu -o %t.x86_64.bc
// DEFINE: %{print} = %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output
// RUN: %{print} %t.nvptx64.bc | bash %S/Inputs/number-from-1.sh %llvm | FileCheck %s
// RUN: %{print} %t.amdgcn.bc | FileCheck --check-prefix=OTHERS --implicit-check-not=alignment: %s
// RUN: %{print} %t.x86_64.bc | FileCheck --check-prefix=OTHERS --implicit-check-not=alignment: %s
// OTHERS: contents:

struct pair {
  double first, second;
};
struct triple {
  double first, second, third;
};

// CHECK-LABEL: structures
// CHECK-NEXT: argument 1, 4 bytes
// CHECK-NEXT: argument 2, contents: a constant makes no difference{{$}}
// CHECK-NEXT: argument 3, contents: a constant makes no difference; alignment: wider accesses
// CHECK-NEXT: argument 4, contents: a constant makes no difference{{$}}
void structures(int count, double *values, pair *pairs, triple *triples) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < count; ++i)
    values[i] = pairs[i].first + pairs[i].second + triples[i].first + triples[i].second + triples[i].third;
}

// Both columns of one row come to one thread, and the rows' length may be even.
// CHECK-LABEL: neighbours
// CHECK-NEXT: argument 1, 4 bytes
// CHECK-NEXT: argument 2, contents: a constant makes no difference{{$}}
// CHECK-NEXT: argument 3, contents: a constant makes no difference{{$}}
// CHECK-NEXT: argument 4, 4 bytes
// CHECK-NEXT: argument 5, contents: a constant makes no difference; alignment: wider accesses
void neighbours(int count, float *sums, const float *grid, int pitch, const float *columns) {
#pragma omp target teams distribute parallel for
  for (int i = 1; i < count; ++i)
    sums[i] = grid[pitch + i - 1] + grid[pitch + i] + grid[pitch + i + 1] + columns[i * pitch] + columns[i * pitch + 1];
}

// CHECK-LABEL: rows
// CHECK-NEXT: argument 1, 4 bytes
// CHECK-NEXT: argument 2, 4 bytes
// CHECK-NEXT: argument 3, contents: a constant makes no difference; alignment: wider accesses
// CHECK-NEXT: argument 4, contents: a constant makes no difference; alignment: wider accesses
// CHECK-NEXT: argument 5, contents: a constant makes no difference{{$}}
void rows(int count, int length, const double *matrix, const double *vector, double *result) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < count; ++i) {
    double sum = 0;
    for (int j = 0; j < length; ++j)
      sum += matrix[i * length + j] * vector[j];
    result[i] = sum;
  }
}

// One after the other comes to other threads, and 16 bytes are as much as a thread takes.
// CHECK-LABEL: scaled
// CHECK-NEXT: argument 1, 4 bytes
// CHECK-NEXT: argument 2, contents: a constant makes no difference{{$}}
// CHECK-NEXT: argument 3, 4 bytes
// CHECK-NEXT: argument 4, contents: a constant makes no difference{{$}}
void scaled(int count, double *values, int stride, int __attribute__((vector_size(16))) *wide) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < count; ++i) {
    values[i * stride] *= 2;
    for (int j = 0; j < 4; ++j)
      wide[4 * i + j] *= 3;
  }
}
