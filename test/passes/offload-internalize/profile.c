// The counters of a profile stay, because the runtime reads them off the device by name.

// LLVM 21 and older have the names of a profile private.
// REQUIRES: llvm-22

// RUN: %clang --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O1 -fprofile-instr-generate -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin %passes -passes='offload-internalize,globaldce,verify' -S %t.ll | FileCheck %s

// CHECK-DAG: @__profc_counted = protected addrspace(1) global
// CHECK-DAG: @__profd_counted = protected addrspace(1) global
// CHECK-DAG: @__llvm_prf_nm = protected addrspace(1) constant
// CHECK-DAG: @__llvm_profile_runtime = external protected addrspace(1) global
// CHECK-DAG: @llvm.used = appending addrspace(1) global [1 x ptr] [{{.*}}@__llvm_prf_nm
// CHECK-DAG: define internal {{.*}}i32 @counted(
// CHECK-DAG: define protected amdgpu_kernel void @kernel(

__attribute__((noinline)) int counted(int x) { return x > 3 ? x : 2; }
__attribute__((amdgpu_kernel)) void kernel(int *x) { *x = counted(*x); }
