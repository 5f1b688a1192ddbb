// What does not count: a division of floating-point numbers, which no constant makes a multiplication with the same bits; code that runs
// once; the end of a loop that teams or threads split, and on
// processors of one that both split. Vectorised code counts as what it was made of.

// RUN: %clang -O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.x86_64.bc
// RUN: %clang -O3 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -foffload-lto --offload-device-only -emit-llvm -c %s -o %t.lto.bc
// RUN: %clang -O2 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_70 --cuda-feature=+ptx63 -nogpulib -Wno-unused-command-line-argument --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.nvptx64.bc
// RUN: %clang -O2 -fopenmp -fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target -march=gfx90a -nogpulib -Wno-unused-command-line-argument --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.amdgcn.bc
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.x86_64.bc | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.lto.bc | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.nvptx64.bc | bash %S/Inputs/number-from-1.sh %llvm | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.amdgcn.bc | bash %S/Inputs/number-from-1.sh %llvm | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: %llvm_bin/llvm-dis %t.lto.bc -o - | FileCheck %s --check-prefix=VECTORS

// CHECK-LABEL: _divides_l
// HOST-NEXT: argument 1, 4 bytes: a constant makes no difference
// GPU-NEXT: argument 1, 4 bytes: loop bound{{$}}
// CHECK-NEXT: argument 2, contents: a constant makes no difference
// CHECK-NEXT: argument 3, 8 bytes: a constant makes no difference
void divides(int count, double *values, double divisor) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < 1024; ++j)
      values[i] = values[i] / divisor;
}

// The number of shifts is a multiple of every vector's width: nothing is left that is not a vector.
// CHECK-LABEL: _vectors_l
// HOST-NEXT: argument 1, 4 bytes: a constant makes no difference
// GPU-NEXT: argument 1, 4 bytes: loop bound{{$}}
// CHECK-NEXT: argument 2, contents: a constant makes no difference
// CHECK-NEXT: argument 3, 4 bytes: shift
// VECTORS: define {{.*}}_vectors_l{{.*}}omp_outlined{{[._]}}omp_outlined(
// VECTORS-NOT: lshr i32
// VECTORS: lshr <{{[0-9]+}} x i32>
// VECTORS-NOT: lshr i32
// VECTORS: {{^}}}
void vectors(int count, unsigned *values, unsigned bits) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < 1024; ++j)
      values[i * 1024 + j] >>= bits;
}

// CHECK-LABEL: _once_l
// CHECK-NEXT: argument 1, contents: a constant makes no difference
// CHECK-NEXT: argument 2, 4 bytes: a constant makes no difference
// CHECK-NEXT: argument 3, 4 bytes: a constant makes no difference
// CHECK-NEXT: argument 4, 4 bytes: a constant makes no difference
void once(int *values, int divisor, int bits, int limit) {
#pragma omp target map(tofrom : values[0 : 4])
  {
    values[0] = values[1] / divisor;
    values[1] >>= bits;
    if (limit > 3)
      values[3] = 4;
  }
}

// CHECK-LABEL: _teams_and_threads_l
// HOST-NEXT: argument 1, 4 bytes: a constant makes no difference
// GPU-NEXT: argument 1, 4 bytes: loop bound{{$}}
void teams_and_threads(int count, int *values) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    values[i] += i;
}

// CHECK-LABEL: _teams_l
// CHECK-NEXT: argument 1, 8 bytes: a constant makes no difference
void teams(long count, int *values) {
#pragma omp target teams distribute map(tofrom : values[0 : count])
  for (long i = 0; i < count; ++i)
    values[i] += i;
}

// CHECK-LABEL: _threads_l
// CHECK-NEXT: argument 1, 4 bytes: a constant makes no difference
void threads(int count, int *values) {
#pragma omp target parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    values[i] += i;
}

// But within the share of one thread it does.
// CHECK-LABEL: _within_l
// HOST-NEXT: argument 1, 4 bytes: a constant makes no difference
// GPU-NEXT: argument 1, 4 bytes: loop bound{{$}}
// CHECK-NEXT: argument 2, 4 bytes: loop bound{{(, branch)?$}}
// CHECK-NEXT: argument 3, 4 bytes: address stride{{(, branch)?$}}
void within(int count, int terms, int step, int *values) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < terms; j += step)
      values[i] += values[j];
}
