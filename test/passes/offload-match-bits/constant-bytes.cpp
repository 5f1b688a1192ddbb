// The first half of the ahead-of-time pipeline drops the types of loads that it moves, and with them the proof that an object holds what
// it held at launch. So the bytes of which that is proven are noted before: of objects that are only loaded from, in the kernel and in
// functions that always get them, and without those that some load finds changed.

// RUN: %clangxx -O2 --target=x86_64-pc-linux-gnu -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.bc
// RUN: %opt -load-pass-plugin %passes -passes=offload-internalize,offload-match-bits -S %t.bc -o %t.ll
// RUN: FileCheck %s --input-file=%t.ll
// What is noted is used, also for the load that was moved out of the loop.
// RUN: %opt -load-pass-plugin %passes -passes='offload-internalize,offload-specialize<mode=match;descriptor=kernel=__omp_offloading_1_1_moved_l1;arch=any;1=contents:0400000003000000????????????????>' -S %t.bc -o %t.moved.ll
// RUN: FileCheck %s --check-prefix=MOVED --input-file=%t.moved.ll

struct settings {
  int terms;
  int kind;
  double scale;
};

#define KERNEL(name) extern "C" void __omp_offloading_1_1_##name##_l1

// `kind` is not always loaded. `scale` is of the type that the kernel writes.
// CHECK: define {{.*}} @__omp_offloading_1_1_moved_l1(ptr {{[^,]*}}, ptr {{[^,]*}} "offloom-constant-bytes"="cccccccc" %
// CHECK: load i32, ptr %{{[0-9]+}}, align 4{{$}}
// CHECK: {{^}}}
// MOVED: define {{.*}} @__omp_offloading_1_1_moved_l1(
// MOVED-NOT: load i32
// MOVED: load double
// MOVED-NOT: load i32
// MOVED: {{^}}}
static void scale(const settings &s, double *values, int i) {
  if (values[i] > 1)
    values[i] += values[s.kind] * s.scale;
}
KERNEL(moved)(void *, const settings &s, double *values) {
  for (int i = 0; i < s.terms; ++i)
    scale(s, values, i);
}

// Where the address is compared, loads through the other pointer may be made loads through this one.
// CHECK: define {{.*}} @__omp_offloading_1_1_compared_l1(
// CHECK-NOT: offloom-constant-bytes
// CHECK: {{^}}
KERNEL(compared)(void *, const settings &s, double *values, float *others) {
  for (int i = 0; i < s.terms; ++i)
    if (values[i] > s.kind)
      values[i] += (void *)others == (void *)&s ? *others : 1;
}

// `kind` is loaded as another type too, with which it may be written.
// CHECK: define {{.*}} @__omp_offloading_1_1_otherwise_l1(ptr {{[^,]*}}, ptr {{[^,]*}} "offloom-constant-bytes"="cccc" %
KERNEL(otherwise)(void *, const settings &s, float *values) {
  for (int i = 0; i < s.terms; ++i)
    values[i] += values[i] > 1 ? s.kind : *(const float *)&s.kind;
}

// Through the object's own address it is written as another type.
// CHECK: define {{.*}} @__omp_offloading_1_1_written_l1(
// CHECK-NOT: offloom-constant-bytes
// CHECK: {{^}}
KERNEL(written)(void *, settings &s, double *values) {
  for (int i = 0; i < s.terms; ++i)
    if (values[i] > 1)
      values[i] += s.kind;
    else
      *(float *)&s.kind = 1;
}

// The function gets other objects too.
// CHECK: define {{.*}} @__omp_offloading_1_1_also_another_l1(
// CHECK-NOT: offloom-constant-bytes
// CHECK: {{^}}
static int kind_of(const settings &s) { return s.kind; }
KERNEL(also_another)(void *, const settings &s, double *values, const settings *others) {
  for (int i = 0; i < s.terms; ++i)
    values[i] += kind_of(s) + kind_of(others[i]);
}

// The address may be found in memory.
// CHECK: define {{.*}} @__omp_offloading_1_1_stored_l1(
// CHECK-NOT: offloom-constant-bytes
// CHECK: {{^}}
KERNEL(stored)(void *, const settings &s, double *values, const settings **others) {
  *others = &s;
  for (int i = 0; i < s.terms; ++i)
    if (values[i] > 1)
      values[i] += s.kind;
}
