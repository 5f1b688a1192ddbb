// Clang's host and device modules, stripped, get back what they had. `cargo xtask corpus` compares whole modules; this shows the lines.

// RUN: %clangxx -O2 %omp_compile --offload-host-only -c -emit-llvm %s -o %t.host.bc
// RUN: %opt -load-pass-plugin %test_plugin -passes=test-strip-offload -S %t.host.bc -o %t.host.stripped
// RUN: FileCheck %s --check-prefix=STRIPPED < %t.host.stripped
// RUN: %opt -load-pass-plugin %passes -passes='offload-entries,verify' -S %t.host.stripped | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: %llvm_bin/llvm-dis %t.host.bc -o - | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: %clangxx -O2 %omp_compile --offload-device-only -c -emit-llvm %s -o %t.device.bc
// RUN: %opt -load-pass-plugin %test_plugin -passes=test-strip-offload -S %t.device.bc -o %t.device.stripped
// RUN: FileCheck %s --check-prefix=STRIPPED < %t.device.stripped
// RUN: %opt -load-pass-plugin %passes -passes='offload-entries,offload-visibility,verify' -S %t.device.stripped \
// RUN:   | FileCheck %s --check-prefixes=CHECK,DEVICE
// RUN: %llvm_bin/llvm-dis %t.device.bc -o - | FileCheck %s --check-prefixes=CHECK,DEVICE

// STRIPPED-NOT: @.offloading.
// STRIPPED-NOT: protected
// STRIPPED-NOT: omp_offload.info
// STRIPPED-NOT: llvm.offloading.symbols

// HOST-DAG: @.__omp_offloading_[[FILE:[0-9a-f]+_[0-9a-f]+]]__Z5scaleIiEvPT_i_l30.region_id = weak constant i8 0
// HOST-DAG: @.offloading.entry.__omp_offloading_[[FILE]]__Z5scaleIiEvPT_i_l30 = weak {{.*}}ptr @.__omp_offloading_[[FILE]]__Z5scaleIiEvPT_i_l30.region_id
// DEVICE-DAG: @.offloading.entry.__omp_offloading_[[FILE:[0-9a-f]+_[0-9a-f]+]]__Z5scaleIiEvPT_i_l30 = weak {{.*}}ptr @__omp_offloading_[[FILE]]__Z5scaleIiEvPT_i_l30,
// DEVICE-DAG: @factor = protected global
// DEVICE-DAG: define weak_odr protected void @__omp_offloading_[[FILE]]__Z5scaleIiEvPT_i_l30(
// CHECK-DAG: @.offloading.entry.factor = weak {{.*}}ptr @factor, {{.*}}i64 8
#pragma omp begin declare target
double factor = 3;
#pragma omp end declare target
template <class T> void scale(T *values, int count) {
#pragma omp target map(tofrom : values[0 : count])
  for (int i = 0; i < count; ++i)
    values[i] *= factor;
}

int main() {
  int integers[4] = {1, 2, 3, 4};
  scale(integers, 4);
  return integers[3] != 12;
}
// CHECK-DAG: !{i32 0, i32 {{[0-9]+}}, i32 {{[0-9]+}}, !"_Z5scaleIiEvPT_i", i32 {{[0-9]+}}, i32 0, i32 1}
// CHECK-DAG: !{i32 1, !"factor", i32 0, i32 0}
