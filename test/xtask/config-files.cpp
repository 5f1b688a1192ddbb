// Clang's configuration files put our tools in the place of LLVM's, from wherever the staged tree is, and without warnings
// where there is nothing to link.
// RUN: %clangxx --config=%dist/share/offloom/offloom.cfg %omp_compile -### %s -o %t 2>&1 | FileCheck --implicit-check-not=warning: %s
// RUN: %clangxx --config=%dist/share/offloom/offloom-jit.cfg %omp_compile -### %s -o %t 2>&1 \
// RUN:   | FileCheck --implicit-check-not=warning: --check-prefixes=CHECK,JIT %s
// RUN: %clangxx --config=%dist/share/offloom/offloom-jit.cfg -c %s -o %t.o 2>&1 | count 0
//
// JIT: "-flto=thin"{{.*}} "-fopenmp-is-target-device"
// CHECK: libexec/offloom/{{clang-offload-packager|llvm-offload-binary}}"
// CHECK: libexec/offloom/clang-linker-wrapper"
// JIT-SAME: "--device-linker=--jit"
int main() {}
