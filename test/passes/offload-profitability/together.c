// Arguments are looked at together: what is made of several is a number where all of them are. The extent that no iteration is divided by does not
// count.

// RUN: %clang -O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.x86_64.bc
// RUN: %clang -O3 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -foffload-lto --offload-device-only -emit-llvm -c %s -o %t.lto.bc
// RUN: %clang -O2 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_70 --cuda-feature=+ptx63 -nogpulib -Wno-unused-command-line-argument --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.nvptx64.bc
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.x86_64.bc | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.lto.bc | FileCheck %s --check-prefix=COLLAPSED
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.nvptx64.bc | bash %S/Inputs/number-from-1.sh %llvm | FileCheck %s --check-prefixes=CHECK,GPU

// CHECK-LABEL: _collapsed_l
// CHECK-NEXT: argument 1, 4 bytes: a constant makes no difference
// CHECK-NEXT: argument 2, 4 bytes: {{.*}}division or modulo
// CHECK-NEXT: argument 3, 4 bytes: {{.*}}division or modulo
// COLLAPSED-LABEL: _collapsed_l
// COLLAPSED-NEXT: argument 1, 4 bytes: a constant makes no difference
// COLLAPSED-NEXT: argument 2, 4 bytes: {{.*}}division or modulo
// COLLAPSED-NEXT: argument 3, 4 bytes: {{.*}}division or modulo
void collapsed(int planes, int rows, int columns, double *out) {
#pragma omp target teams distribute parallel for collapse(3) map(tofrom : out[0 : columns])
  for (int z = 0; z < planes; ++z)
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < columns; ++x)
        out[x] += z - y;
}

// CHECK-LABEL: _compared_l
// CHECK-NEXT: argument 1, 4 bytes: a constant makes no difference
// CHECK-NEXT: argument 2, 4 bytes: branch
// CHECK-NEXT: argument 3, 4 bytes: branch
void compared(int count, int low, int high, int *out) {
#pragma omp target teams distribute parallel for map(tofrom : out[0 : count])
  for (int i = 0; i < count; ++i)
    for (volatile int j = 0; j < 4; ++j)
      if (low < high)
        out[i] = j;
}

// CHECK-LABEL: _stride_l
// CHECK-NEXT: argument 1, 4 bytes: a constant makes no difference
// CHECK-NEXT: argument 2, contents: a constant makes no difference
// CHECK-NEXT: argument 3, 4 bytes: address stride
// CHECK-NEXT: argument 4, 4 bytes: address stride
void stride(int count, int width, int margin, int *out) {
#pragma omp target teams distribute parallel for map(tofrom : out[0 : count])
  for (int i = 0; i < count; ++i)
    out[i * (width + margin)] = i;
}

struct box {
  int rows, columns;
};

// With an object that is only read. Launches on a GPU do not look at its contents.
// CHECK-LABEL: _of_object_l
// CHECK-NEXT: argument 1, 4 bytes: a constant makes no difference
// CHECK-NEXT: argument 2, contents: a constant makes no difference
// HOST-NEXT: argument 3, 4 bytes: division or modulo
// GPU-NEXT: argument 3, 4 bytes: a constant makes no difference
// CHECK-NEXT: argument 4, 8 constant bytes{{.*}} of contents: {{.*}}division or modulo
void of_object(int count, int pages, struct box box, double *out) {
#pragma omp target teams distribute parallel for map(to : box) map(tofrom : out[0 : count])
  for (int i = 0; i < count; ++i)
    out[i] = i / (pages * box.rows * box.columns);
}

// An `int` product that an address is computed from: LLVM extends its sign by shifts.
// COLLAPSED-LABEL: _int_product_l
// COLLAPSED: argument 4, 4 bytes: {{.*}}address stride
// CHECK-LABEL: _int_product_l
// CHECK: argument 4, 4 bytes: {{.*}}address stride
void int_product(long count, long pitch, int stride, const int *in, double *out) {
#pragma omp target teams distribute parallel for map(to : in[0 : count]) map(from : out[0 : count])
  for (long i = 0; i < count; ++i)
    out[i] = in[((int)i * stride + 1L) * pitch];
}
