// How much of an argument recursive functions look at. Each is looked at once, however often it calls itself.

// RUN: %clang -O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.bc
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-profitability -disable-output %t.bc | FileCheck %s

#pragma omp declare target
#define TWICE(statement) statement; statement
#define SIXTEEN_TIMES(statement) TWICE(TWICE(TWICE(TWICE(statement))))

static void visit(long flags, int depth, int *values) {
  if (depth == 0) {
    values[0] += (int)flags;
    return;
  }
  SIXTEEN_TIMES(visit(flags, depth - 1, values));
}

// Each looks at what the other one does, whichever is asked about first.
static void odd(long flags, int depth, int *values);
static void even(long flags, int depth, int *values) {
  values[1] += (short)flags;
  if (depth > 0)
    odd(flags, depth - 1, values);
}
static void odd(long flags, int depth, int *values) {
  values[2] += (int)flags;
  if (depth > 0)
    even(flags, depth - 1, values);
}

static void whole(long flags, int depth, long *values) {
  values[0] += flags;
  if (depth > 0)
    whole(flags, depth - 1, values);
}
#pragma omp end declare target

// CHECK-LABEL: _tree_l
// CHECK-NEXT: argument 1, 4 bytes:
void tree(long flags, int *values) {
#pragma omp target map(tofrom : values[0 : 1])
  visit(flags, 12, values);
}

// CHECK-LABEL: _mutual_l
// CHECK-NEXT: argument 1, 4 bytes:
// CHECK-NEXT: argument 2, {{.*}}contents
// CHECK-NEXT: argument 3, 4 bytes:
void mutual(long first, int *values, long second) {
#pragma omp target map(tofrom : values[0 : 3])
  {
    even(first, 4, values);
    odd(second, 4, values);
  }
}

// CHECK-LABEL: _all_of_it_l
// CHECK-NEXT: argument 1, 8 bytes:
void all_of_it(long flags, long *values) {
#pragma omp target map(tofrom : values[0 : 1])
  whole(flags, 4, values);
}
