// A variable that is written again between two regions is known in neither, though only its own function writes it, and one store comes
// before both.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-specialize-args "1=i32:1000;3=i32:77"
// RUN: FileCheck %s < %t.x86_64.after.ll
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s aarch64-unknown-linux-gnu %t.aarch64 offload-specialize-args "1=i32:1000;3=i32:77"
// RUN: FileCheck %s < %t.aarch64.after.ll

void run(int *x, int first, int second) {
#pragma omp target map(tofrom : x[0 : 4])
#pragma omp teams
  {
    int value;
    goto first_region;
  second_region:
    value = second;
#pragma omp parallel
    x[2] = x[3] / value;
    goto end;
  first_region:
    value = first;
#pragma omp parallel
    x[0] = x[1] / value;
    goto second_region;
  end:;
  }
}

// CHECK: define {{.*}}omp_outlined{{[._]}}omp_outlined({{[^,]*, [^,]*, .*}}ptr {{[^%]*}}[[CAPTURED:%[0-9]+]])
// CHECK: [[VALUE:%.*]] = load i32, ptr [[CAPTURED]]
// CHECK: sdiv i32 %{{.*}}, [[VALUE]]
