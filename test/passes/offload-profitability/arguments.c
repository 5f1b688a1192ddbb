// For each argument whether a constant makes better code, and why: followed into the innermost body, on every kind of device, before and
// after Clang's own passes. What only bounds the loop that is split among teams and threads counts on GPUs alone; what is only computed with does not.

// RUN: %clang -O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.x86_64.bc
// RUN: %clang -O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -foffload-lto --offload-device-only -emit-llvm -c %s -o %t.lto.bc
// RUN: %clang -O2 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_70 --cuda-feature=+ptx63 -nogpulib -Wno-unused-command-line-argument --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.nvptx64.bc
// RUN: %clang -O2 -fopenmp -fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target -march=gfx90a -nogpulib -Wno-unused-command-line-argument --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.amdgcn.bc
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.x86_64.bc | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.lto.bc | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.nvptx64.bc | bash %S/Inputs/number-from-1.sh %llvm | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.amdgcn.bc | bash %S/Inputs/number-from-1.sh %llvm | FileCheck %s --check-prefixes=CHECK,GPU

double pow(double, double);

struct settings {
  int kind;
  int terms;
};

// CHECK-LABEL: _bounds_l
// HOST-NEXT: argument 1, 4 bytes: a constant makes no difference
// GPU-NEXT: argument 1, 4 bytes: loop bound{{$}}
// CHECK-NEXT: argument 2, 4 bytes: a constant makes no difference
// CHECK-NEXT: argument 3, 4 bytes: loop bound{{(, branch)?$}}
// CHECK-NEXT: argument 4, contents: a constant makes no difference
// CHECK-NEXT: argument 5, 4 bytes: division or modulo
// CHECK-NEXT: argument 6, 4 bytes: shift
void bounds(int count, int *values, int terms, int offset, int divisor, int bits) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i) {
    int sum = offset;
    for (int j = 0; j < terms; ++j)
      sum += values[i] % (j + 1);
    values[i] = (sum / divisor) >> bits;
  }
}

// CHECK-LABEL: _math_l
// HOST-NEXT: argument 1, 4 bytes: a constant makes no difference
// GPU-NEXT: argument 1, 4 bytes: loop bound{{$}}
// CHECK-NEXT: argument 2, contents: a constant makes no difference
// CHECK-NEXT: argument 3, 4 bytes: address stride
// CHECK-NEXT: argument 4, 8 bytes: a constant makes no difference
// CHECK-NEXT: argument 5, 8 bytes: math call
void math(int count, double *values, int stride, double exponent, double factor) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count * stride])
  for (int i = 0; i < count; ++i)
    values[i * stride] = factor * pow(values[i * stride], exponent);
}

// What a region captures by reference, and the contents of a mapped object.
// CHECK-LABEL: _contents_l
// CHECK-NEXT: argument 1, {{.*}}contents: loop bound{{(, branch)?}}, switch
// CHECK-NEXT: argument 2, contents: a constant makes no difference
void contents(const struct settings *settings, float *values) {
#pragma omp target map(to : settings[0 : 1]) map(tofrom : values[0 : 100])
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < settings->terms; ++j)
      switch (settings->kind) {
      case 0: values[i] += 1; break;
      case 1: values[i] *= values[j]; break;
      case 2: values[i] -= values[j]; break;
      case 3: values[i] = 0; break;
      default: values[j] = 2;
      }
}
