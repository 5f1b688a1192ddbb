// CUDA's libdevice, which names neither LLVM's triple nor its data layout, is linked as Clang links it.

// REQUIRES: libdevice

// RUN: %clang -O2 --target=nvptx64-nvidia-cuda -nogpulib -Xclang -disable-llvm-passes -c -emit-llvm %s -o %t.bc
// RUN: %clang -O2 --target=nvptx64-nvidia-cuda -nogpulib -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.clang.ll -Xclang -mlink-builtin-bitcode -Xclang %libdevice_folder/libdevice.10.bc
// RUN: %opt -discard-value-names -load-pass-plugin %passes -passes='offload-runtime<bitcode=%libdevice_folder/libdevice.10.bc>,verify' -S %t.bc -o %t.ours.ll 2> %t.err
// RUN: count 0 < %t.err
// RUN: python3 %S/Inputs/same_module.py %t.clang.ll %t.ours.ll | FileCheck %s

// CHECK: same, with {{[1-9][0-9]*}} internal functions

double __nv_pow(double, double);
float __nv_sinf(float);

double power(double x, double y) { return __nv_pow(x, y); }
float sine(float x) { return __nv_sinf(x); }
