// Kernels, arguments and values are named as the source names them: with debug info all of them; without, functions, and files where the
// compiled file is the one of the directive; from names in the bitcode what these say. The mangled names and hexadecimal values by flag.
// REQUIRES: x86_64-device
// DEFINE: %{build} = %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit names.cpp %omp_link
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_SPECIALIZE=args,contents OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_STATS=stats
// RUN: rm -rf %t && mkdir -p %t && split-file %s %t && cd %t

// RUN: %{build} -g -o debug && %{run} %run_offload ./debug
// RUN: %offloom explain stats | FileCheck --check-prefix=DEBUG %s
// DEBUG: {{^}}smooth_radius<double>() names.cpp:9{{$}}
// DEBUG-NEXT: 1 launch: 0 ahead of time, 1 of variants; a variant was asked for once
// DEBUG: {{^ *}}steps value branch
// DEBUG: {{^ *}}box.in.low[1] = -2 (long), steps = 18446744073709551615 (unsigned long), factor = 1.5 (double) compiler
// RUN: %offloom explain stats | FileCheck --check-prefix=HEADER %s
// HEADER: {{^}}in_header() region.h:3{{$}}
// HEADER: {{^ *}}count = 5 (int) compiler
// RUN: %offloom explain --hex stats | FileCheck --check-prefix=HEX %s
// HEX: box.in.low[1] = 0xfffffffffffffffe (long)
// RUN: %offloom explain --mangled stats | FileCheck --check-prefix=MANGLED %s
// MANGLED: {{^}}__omp_offloading_{{.*}}_Z13smooth_radiusIdEvPT_iRK3Boxmd_l9
// RUN: %offloom --json explain stats | FileCheck --check-prefix=JSON %s
// JSON: "name": "__omp_offloading_{{.*}}_Z13smooth_radius
// JSON: "file": "names.cpp"
// JSON: "function": "smooth_radius<double>"
// JSON: "line": 9
// JSON: "specialized_to": "box.in.low[1] = -2 (long),
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache %offloom cache list | FileCheck --check-prefix=LIST %s
// LIST-DAG: {{^}}smooth_radius<double>() names.cpp:9 box.in.low[1] = -2 (long)
// LIST-DAG: {{^}}in_header() region.h:3 count = 5 (int)

// Without debug info. What is in another file than the compiled one has a line alone: the compiled file's name would be wrong.
// RUN: %{build} -o plain && %{run} %run_offload ./plain
// RUN: %offloom explain stats | FileCheck --check-prefix=PLAIN %s
// PLAIN: {{^}}smooth_radius<double>() names.cpp:9{{$}}
// PLAIN: argument {{[0-9]}} at byte 24: feffffffffffffff, argument {{[0-9]}} = -1 (i64), argument {{[0-9]}} = 1.5 (double)
// RUN: %offloom explain stats | FileCheck --check-prefix=PLAIN-HEADER %s
// PLAIN-HEADER: {{^}}in_header() line 3{{$}}
// PLAIN-HEADER: argument {{[0-9]}} = 5 (i32)
// So it is where the link runs elsewhere, and does not find the file.
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -c names.cpp -o names.o && mkdir -p other && cd other && %clangxx -B %dropin -foffload-lto -Xoffload-linker --jit %omp_compile ../names.o -o ../moved %omp_link && cd ..
// RUN: %{run} %run_offload ./moved && %offloom explain stats | FileCheck --check-prefix=MOVED %s
// MOVED: {{^}}smooth_radius<double>() line 9{{$}}
// (Clang 23 names no arguments of its kernels.)
// RUN: %{build} -fno-discard-value-names -o named && %{run} %run_offload ./named && %offloom explain stats | FileCheck --check-prefix=%if llvm-23 %{PLAIN%} %else %{NAMED%} %s
// NAMED: box at byte 24: feffffffffffffff, steps = -1 (i64), factor = 1.5 (double)

// Images that the library makes of bitcode: what the link has noted is in it.
// RUN: %clangxx -O2 -g -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only names.cpp -o only %omp_link
// RUN: %{run} %run_offload ./only && %offloom explain stats | FileCheck --check-prefix=DEBUG %s

//--- region.h
inline int in_header(int count) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < 8; ++i)
    for (int k = 0; k < count; ++k)
      sum += i % count;
  return sum;
}
//--- names.cpp
#include "region.h"
#include <cstdio>
struct Box {
  int radius;
  struct { float high; long low[2]; } in;
};
template <class T>
__attribute__((noinline)) void smooth_radius(T *data, int n, const Box &box, unsigned long steps, double factor) {
#pragma omp target map(tofrom : data[0 : n]) map(to : box)
  for (int i = 0; i < 8; ++i) {
    double sum = 0;
    for (long j = box.in.low[1]; j < 0; ++j)
      sum += data[i] + j;
    for (unsigned long k = steps; k > steps - 3; --k)
      sum += __builtin_pow(sum + k, factor);
    data[i] = sum;
  }
}
int main() {
  double data[8] = {1};
  Box box{3, {1, {4, -2}}};
  smooth_radius(data, 8, box, -1ul, 1.5);
  std::printf("%g %d\n", data[1], in_header(5));
}
