// Which bytes of a mapped object may be taken to be what they are at launch: those that the kernel provably only reads. `int` fields are;
// what of the object has the type of something that the kernel writes is not. Where a launch may read none of it, it may be in no memory.

// RUN: %clang -O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.bc
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.bc | FileCheck %s
// RUN: %clang -O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -foffload-lto --offload-device-only -emit-llvm -c %s -o %t.lto.bc
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.lto.bc | FileCheck %s

double sin(double);
void unknown(void);
#pragma omp declare target
int counter;
#pragma omp end declare target

struct settings {
  int terms;
  double divisor;
};

// CHECK-LABEL: _only_reads_l
// CHECK-NEXT: argument 1, 4 constant bytes (not all read at every launch) of contents: loop bound{{(, branch)?$}}
void only_reads(struct settings s, double *values) {
#pragma omp target teams distribute parallel for map(to : s) map(tofrom : values[0 : 100])
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < s.terms; ++j)
      values[i] += sin(values[i]);
}

// The object itself is written.
// CHECK-LABEL: _writes_l
// CHECK-NEXT: argument 1, contents:
void writes(struct settings s, double *values) {
#pragma omp target map(tofrom : s) map(tofrom : values[0 : 100])
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < s.terms; ++j)
      values[i] += j;
    s.terms = i;
  }
}

// Another pointer may lead to the object.
// CHECK-LABEL: _through_another_pointer_l
// CHECK-NEXT: argument 1, contents: loop bound{{(, branch)?$}}
void through_another_pointer(struct settings s, int *values) {
#pragma omp target teams distribute parallel for map(to : s) map(tofrom : values[0 : 100])
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < s.terms; ++j)
      values[i] += j;
}

// Bytes may be written by their address.
// CHECK-LABEL: _characters_l
// CHECK-NEXT: argument 1, contents: loop bound{{(, branch)?$}}
void characters(struct settings s, char *values) {
#pragma omp target teams distribute parallel for map(to : s) map(tofrom : values[0 : 100])
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < s.terms; ++j)
      values[i] ^= values[j];
}

// CHECK-LABEL: _calls_l
// CHECK-NEXT: argument 1, contents: loop bound{{(, branch)?$}}
void calls(struct settings s, double *values) {
#pragma omp target map(to : s) map(tofrom : values[0 : 100])
  for (int j = 0; j < s.terms; ++j)
    unknown();
}

// A global variable could be what is mapped.
// CHECK-LABEL: _counts_l
// CHECK-NEXT: argument 1, contents: loop bound{{(, branch)?$}}
void counts(struct settings s) {
#pragma omp target map(to : s)
  for (int j = 0; j < s.terms; ++j)
    counter += counter / (j + 1);
}

// Another kernel may be waited for, which writes.
// CHECK-LABEL: _waits_l
// CHECK-NEXT: argument 1, contents: loop bound{{(, branch)?$}}
void waits(struct settings s, double *values) {
#pragma omp target parallel map(to : s) map(tofrom : values[0 : 100])
  for (int j = 0; j < s.terms; ++j) {
#pragma omp critical
    values[j] += 1;
  }
}

// CHECK-LABEL: _atomic_l
// CHECK-NEXT: argument 1, contents: loop bound{{(, branch)?$}}
void atomic(struct settings s, double *values) {
#pragma omp target parallel map(to : s) map(tofrom : values[0 : 100])
  for (int j = 0; j < s.terms; ++j) {
#pragma omp atomic seq_cst
    values[j] += 1;
  }
}

// Not every launch reads it, and nothing says that it is there.
// CHECK-LABEL: _perhaps_l
// CHECK-NEXT: argument 1, contents:
// CHECK-NEXT: argument 2, contents: loop bound
void perhaps(struct settings *s, double *values) {
#pragma omp target map(to : s[0 : 1]) map(tofrom : values[0 : 100])
  if (values[0] > 0)
    for (int j = 0; j < s->terms; ++j)
      values[j] += 1;
}

// CHECK-LABEL: _in_the_beginning_l
// CHECK-NEXT: argument 1, 4 constant bytes of contents: loop bound{{(, branch)?$}}
// CHECK-NEXT: argument 2, contents
void in_the_beginning(struct settings *s, double *values) {
#pragma omp target map(to : s[0 : 1]) map(tofrom : values[0 : 100])
  for (int j = 0; j < s->terms; ++j)
    for (int k = 0; k < s->terms; ++k)
      values[j] += 1;
}

// Local variables, barriers and nested regions write nothing of it.
// CHECK-LABEL: _locally_l
// CHECK-NEXT: argument 1, 4 constant bytes of contents: loop bound{{(, branch)?$}}
void locally(struct settings s, const int *values, double *sums) {
#pragma omp target teams map(to : s) map(to : values[0 : 100]) map(tofrom : sums[0 : 100])
#pragma omp parallel
  {
    int counts[10] = {0};
    for (int j = 0; j < s.terms; ++j)
      counts[values[j] % 10] += 1;
#pragma omp barrier
    sums[0] = sums[1] + counts[0];
  }
}

// Atomic operations, which reductions are made of too, have no type in LLVM.
// CHECK-LABEL: _reduces_l
// CHECK-NEXT: argument 1, contents: loop bound{{(, branch)?$}}
double reduces(struct settings s, const int *values) {
  double sum = 0;
#pragma omp target parallel map(to : s) map(to : values[0 : 100]) map(tofrom : sum) reduction(max : sum)
  for (int j = 0; j < s.terms; ++j)
    sum = sum > values[j] ? sum : values[j];
  return sum;
}
