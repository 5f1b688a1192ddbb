// Kernels for NVIDIA GPUs that stay ahead of time, and what is no reason to: addresses of code mean something in one module only.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda -B %dropin %s %gpu_options \
// RUN:   %omp_link -o left -Xoffload-linker --jit -Wl,--wrapper-verbose 2>&1 | FileCheck %s
// Who asked for the JIT and gets none of it is told so, without that option too:
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda -B %dropin %s %gpu_options \
// RUN:   %omp_link -o none -DNONE -Xoffload-linker --jit 2>&1 | FileCheck --check-prefix=NONE %s
// NONE: wrapgen: warning: --jit: all kernels of this link stay ahead of time, as {{.*}}: {{.*}}; -Wl,--wrapper-verbose says it of each

#pragma omp begin declare target
int (*chosen)(int);
int twice(int value);
struct Shape {
  virtual double area() const = 0;
};
struct Square : Shape {
  double side;
  double area() const override;
};
__attribute__((noinline)) int twice(int value) { return value * 2; }
__attribute__((noinline)) double Square::area() const { return side * side; }
#pragma omp end declare target

// A pointer that somebody else made.
// CHECK-DAG: remark: {{.*}}through{{.*}}: stays ahead of time: `{{.*}}` calls through a pointer, which may lead into the base image
int through(int value) {
#pragma omp target map(tofrom : value)
  value = chosen(value);
  return value;
}

// A function whose address gets out.
// CHECK-DAG: remark: {{.*}}gives_away{{.*}}: stays ahead of time: the address of `_Z5twicei` is kept, and means something in one module only
void gives_away() {
#pragma omp target
  chosen = twice;
}

// A virtual table.
// CHECK-DAG: remark: {{.*}}virtual_call{{.*}}: stays ahead of time: {{.*}}
double virtual_call(Shape **shapes, int count) {
  double sum = 0;
#pragma omp target map(tofrom : sum) map(to : shapes[0 : count])
  for (int i = 0; i < count; ++i)
    sum += shapes[i]->area();
  return sum;
}

#ifndef NONE
// Parallel regions, serial code around them, reductions, printf and malloc are no reason.
// CHECK-DAG: remark: {{.*}}regions{{.*}}: the JIT may specialise it
#include <cstdio>
#include <cstdlib>
long regions(int n) {
  long sum = 0;
#pragma omp target teams map(tofrom : sum) reduction(+ : sum)
  {
    long *numbers = static_cast<long *>(malloc(sizeof(long) * 8));
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < n; ++i)
      sum += i;
    numbers[0] = sum;
#pragma omp parallel
    printf("%ld\n", numbers[0]);
    free(numbers);
  }
  return sum;
}

// Nor is a function that is called directly.
// CHECK-DAG: remark: {{.*}}direct{{.*}}: the JIT may specialise it
int direct(int value) {
#pragma omp target map(tofrom : value)
  value = twice(value);
  return value;
}
#else
long regions(int n) { return n; }
int direct(int value) { return value; }
#endif

int main() {
  Square square;
  Shape *shapes[] = {&square};
  gives_away();
  return through(1) + direct(1) + regions(10) + virtual_call(shapes, 1) == 0;
}
