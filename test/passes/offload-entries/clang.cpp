// Under `clang -fpass-plugin` marked functions and variables get their entries at every -O level without a pragma and without -fopenmp;
// sources with pragmas, and sources without anything, come out as without the plugin.

// RUN: %clangxx -O0 -fpass-plugin=%passes -DMARKED -S -emit-llvm %s -o - | FileCheck %s
// RUN: %clangxx -O3 -fpass-plugin=%passes -DMARKED -S -emit-llvm %s -o - | FileCheck %s
// RUN: %clangxx -O2 %omp_compile -DPRAGMA -c %s -o %t.stock.o
// RUN: %clangxx -O2 %omp_compile -DPRAGMA -fpass-plugin=%passes -c %s -o %t.ours.o
// RUN: cmp %t.stock.o %t.ours.o
// RUN: %clangxx -O2 -S -emit-llvm %s -o %t.stock.ll
// RUN: %clangxx -O2 -fpass-plugin=%passes -S -emit-llvm %s -o %t.ours.ll
// RUN: cmp %t.stock.ll %t.ours.ll

// CHECK-DAG: @.__omp_offloading_0_0_scale_l0.region_id = weak {{.*}}constant i8 0
// CHECK-DAG: @.offloading.entry.__omp_offloading_0_0_scale_l0 = weak {{.*}}constant {{.*}}ptr @.__omp_offloading_0_0_scale_l0.region_id
// CHECK-DAG: @.offloading.entry.factor = weak {{.*}}constant {{.*}}ptr @factor, {{.*}}i64 8
// CHECK-NOT: .offload.
#if MARKED
#define OFFLOAD(kind) __attribute__((section(".offload." #kind)))
#else
#define OFFLOAD(kind)
#endif

OFFLOAD(to) double factor = 3;

extern "C" OFFLOAD(kernel) void scale(double *values, int count) {
  for (int i = 0; i < count; ++i)
    values[i] *= factor;
}

#if PRAGMA
void region(double *values) {
#pragma omp target map(tofrom : values[0 : 4])
  values[0] = 1;
}
#endif
