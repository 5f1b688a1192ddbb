// Arguments are looked at together: what is made of several is a number where all of them are.

// RUN: %clang -O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.x86_64.bc
// RUN: %clang -O3 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -foffload-lto --offload-device-only -emit-llvm -c %s -o %t.lto.bc
// RUN: %clang -O3 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_70 --cuda-feature=+ptx63 -nogpulib -Wno-unused-command-line-argument -foffload-lto --offload-device-only -emit-llvm -c %s -o %t.nvptx64.bc
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.x86_64.bc | FileCheck %s --check-prefixes=CHECK,HOST,BLOCK
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.lto.bc | FileCheck %s --check-prefixes=CHECK,HOST,OPTIMIZED
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.nvptx64.bc | bash %S/Inputs/number-from-1.sh %llvm | FileCheck %s --check-prefixes=CHECK,GPU,OPTIMIZED,BLOCK

double sin(double);

// A product of two extents. The third says how many iterations there are, which counts on GPUs.
// CHECK-LABEL: _collapsed_l
// HOST-NEXT: argument 1, 4 bytes: a constant makes no difference
// GPU-NEXT: argument 1, 4 bytes: loop bound{{$}}
// CHECK-NEXT: argument 2, 4 bytes: {{.*}}division or modulo
// CHECK-NEXT: argument 3, 4 bytes: {{.*}}division or modulo
void collapsed(int planes, int rows, int columns, double *out) {
#pragma omp target teams distribute parallel for collapse(3) map(tofrom : out[0 : columns])
  for (int z = 0; z < planes; ++z)
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < columns; ++x)
        out[x] += z - y;
}

// CHECK-LABEL: _stride_l
// CHECK: argument 3, 4 bytes: address stride
// CHECK-NEXT: argument 4, 4 bytes: address stride
void stride(int count, int width, int margin, int *out) {
#pragma omp target teams distribute parallel for map(tofrom : out[0 : count])
  for (int i = 0; i < count; ++i)
    out[i * (width + margin)] = i;
}

// What chooses a number makes it known.
// CHECK-LABEL: _chosen_l
// OPTIMIZED: argument 3, 4 bytes: division or modulo
// OPTIMIZED-NEXT: argument 4, 4 bytes: division or modulo
// OPTIMIZED-NEXT: argument 5, 4 bytes: division or modulo
void chosen(int count, int limit, int divisor, int factor, int *out) {
#pragma omp target teams distribute parallel for map(tofrom : out[0 : count])
  for (int i = 0; i < count; ++i)
    out[i] = i / (factor * (limit > 5 ? divisor : 7));
}

struct box {
  int rows, columns;
};

// With an object that is only read. Launches on a GPU do not look at its contents.
// CHECK-LABEL: _of_object_l
// CHECK: argument 3, 4 bytes:
// HOST-SAME: division or modulo
// GPU-SAME: a constant makes no difference
// CHECK: argument 4, 8 constant bytes{{.*}} of contents: {{.*}}division or modulo
void of_object(int count, int pages, struct box box, double *out) {
#pragma omp target teams distribute parallel for map(to : box) map(tofrom : out[0 : count])
  for (int i = 0; i < count; ++i)
    out[i] = i / (pages * box.rows * box.columns);
}

// What one caller alone knows is not known.
__attribute__((noinline)) static int wrap(int i, int extent) { return (i % extent + extent) % extent; }

// CHECK-LABEL: _two_callers_l
// CHECK: argument 3, 4 bytes: division or modulo
// CHECK-NEXT: argument 4, 4 bytes: a constant makes no difference
void two_callers(int count, int extent, int shift, int *out) {
#pragma omp target teams distribute parallel for map(tofrom : out[0 : count])
  for (int i = 0; i < count; ++i)
    out[i] = wrap(i + 1, extent) + wrap(shift, extent);
}

// Nor is which of two it is, where data decide.
// CHECK-LABEL: _data_decide_l
// CHECK: argument 3, 4 bytes: a constant makes no difference
// CHECK: argument 5, 4 bytes: a constant makes no difference
// CHECK-NEXT: argument 6, 4 bytes: division or modulo
void data_decide(int count, const int *in, int *out, int one, int other, int divisor) {
#pragma omp target teams distribute parallel for map(to : in[0 : count]) map(from : out[0 : count])
  for (int i = 0; i < count; ++i) {
    int dividend;
    if (in[i] & 1) {
      dividend = one;
      out[i + 1] = 4;
    } else {
      dividend = other;
    }
    out[i] = dividend / divisor;
  }
}

// Cells at known distances from one.
// CHECK-LABEL: _neighbours_l
// CHECK: argument 4, 8 bytes: address stride
// CHECK-NEXT: argument 5, 8 bytes: address stride
void neighbours(long count, const double *in, long row, long rows, double *out) {
#pragma omp target teams distribute parallel for map(to : in[0 : count]) map(from : out[0 : count])
  for (long i = 0; i < count; ++i)
    out[i] = in[i - row] + in[i] + in[i + row] + in[i + row * rows];
}

// One distance alone is part of where the array begins.
// CHECK-LABEL: _begin_l
// CHECK: argument 4, 8 bytes: a constant makes no difference
void begin(long count, const double *in, double *out, long first) {
#pragma omp target teams distribute parallel for map(to : in[0 : count]) map(from : out[0 : count])
  for (long i = 0; i < count; ++i)
    out[i] = in[i + first];
}

// An `int` product that an address is computed from: LLVM extends its sign by shifts.
// CHECK-LABEL: _int_product_l
// CHECK: argument 4, 4 bytes: {{.*}}address stride
void int_product(long count, int stride, const int *in, double *out, long pitch) {
#pragma omp target teams distribute parallel for map(to : in[0 : count]) map(from : out[0 : count])
  for (long i = 0; i < count; ++i)
    out[i] = in[((int)i * stride + 1L) * pitch];
}

// Fixed-point numbers are no strides.
// CHECK-LABEL: _fixed_point_l
// CHECK: argument 4, 4 bytes: a constant makes no difference
void fixed_point(int count, int scale, const int *in, int *out) {
#pragma omp target teams distribute parallel for map(to : in[0 : count]) map(from : out[0 : count])
  for (int i = 0; i < count; ++i)
    out[i] = in[i * scale >> 16];
}

// How many rounds there are does not depend on the first.
// CHECK-LABEL: _block_l
// BLOCK: argument 2, 4 bytes: a constant makes no difference
// BLOCK-NEXT: argument 3, 4 bytes: loop bound
void block(int count, int length, const double *in, double *out, int first) {
#pragma omp target teams distribute parallel for map(to : in[0 : count]) map(tofrom : out[0 : count])
  for (int i = 0; i < count; ++i)
    for (int k = first; k < first + length; ++k)
      out[i] += in[k];
}

// A GPU computes it once, before the loop.
// CHECK-LABEL: _source_l
// HOST: argument 4, 8 bytes: math call
// GPU: argument 4, 8 bytes: a constant makes no difference
void source(int count, double *out, double frequency, double time) {
#pragma omp target teams distribute parallel for map(tofrom : out[0 : count])
  for (int i = 0; i < count; ++i)
    out[i] += sin(frequency * time);
}
