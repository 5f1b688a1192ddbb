// What Clang has made already stays as it is: its device modules come out as they were, with and without the host module's list.
// RUN: %clangxx -O1 %omp_compile -emit-llvm -S --offload-host-only -Xclang -disable-llvm-passes %s -o %t.host.ll
// RUN: %clangxx -O1 %omp_compile -emit-llvm -S --offload-device-only -Xclang -disable-llvm-passes %s -o %t.ll
// RUN: %opt -S < %t.ll -o %t.before.ll
// RUN: %opt -load-pass-plugin %passes -passes=offload-device,verify -S < %t.ll | diff %t.before.ll -
// RUN: %opt -load-pass-plugin %passes -passes='offload-device<host-ir=%t.host.ll>,verify' -S < %t.ll | diff %t.before.ll -
// RUN: %clangxx -O1 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_70 -Xopenmp-target --cuda-feature=+ptx78 -nogpulib -nogpuinc -emit-llvm -S --offload-device-only -Xclang -disable-llvm-passes %s -o %t.nvptx.ll
// RUN: %opt -S < %t.nvptx.ll -o %t.before.ll
// RUN: %opt -load-pass-plugin %passes -passes='offload-device<host-ir=%t.host.ll>,verify' -S < %t.nvptx.ll | diff %t.before.ll -
// RUN: %clangxx -O1 -fopenmp -fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target -march=gfx90a -nogpulib -nogpuinc -emit-llvm -S --offload-device-only -Xclang -disable-llvm-passes %s -o %t.amdgcn.ll
// RUN: %opt -S < %t.amdgcn.ll -o %t.before.ll
// RUN: %opt -load-pass-plugin %passes -passes='offload-device<host-ir=%t.host.ll>,verify' -S < %t.amdgcn.ll | diff %t.before.ll -
#pragma omp begin declare target
int counter = 3;
static int local = 4;
int helper(int x) { return x + counter + local; }
template <typename T> struct Holder {
  static T value;
  virtual T get() { return value; }
};
template <typename T> T Holder<T>::value = 5;
#pragma omp end declare target
int large[100];
#pragma omp declare target link(large)
#pragma omp begin declare target indirect
int called_back(int x) { return x; }
#pragma omp end declare target

void regions(int n, float a, bool b, double *p) {
#pragma omp target map(tofrom : p[0 : n])
  {
    Holder<int> holder;
    p[0] = a * helper(n) + large[2] + b + holder.get();
  }
#pragma omp target teams distribute parallel for map(tofrom : p[0 : n])
  for (int i = 0; i < n; i++)
    p[i] = i;
}
