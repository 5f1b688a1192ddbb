// Under clang -fpass-plugin, offload-team-state says which function of a file goes wrong where other files' kernels call it, and which line it is on. There is no such warning
// where device code is optimised as a whole, or not at all; of a file's own functions; and of inline functions.

// REQUIRES: cuda, device-runtime, llvm-19
// Clang 19 cannot read that header of Debian 13's C library for NVIDIA GPUs.
// DEFINE: %{without_header} = -Xopenmp-target=nvptx64-nvidia-cuda -D_BITS_FLOATN_H
// RUN: mkdir -p %t
// DEFINE: %{compile} = env LIBRARY_PATH=%device_runtime_folder %clangxx --cuda-path=%cuda -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda --offload-arch=sm_75 %{without_header} -fpass-plugin=%passes -c %s -o %t/a.o

// RUN: %{compile} -O2 -g 2> %t/debug
// RUN: FileCheck --check-prefix=DEBUG --input-file=%t/debug %s
// DEBUG: warning: {{.*}}clang.cpp:[[@LINE+21]]: 'deep(double*, int)' uses the OpenMP runtime of its own file (__kmpc_alloc_shared) (as does another function), and no kernel of the file calls it: {{.*}}: compile all files with -foffload-lto
// DEBUG-NOT: warning:

// RUN: %{compile} -O1 2> %t/release
// RUN: FileCheck --check-prefix=RELEASE --input-file=%t/release %s
// RELEASE: warning: {{.*}}clang.cpp: 'deep(double*, int)' uses

// RUN: %{compile} -O2 -foffload-lto 2> %t/lto
// RUN: count 0 < %t/lto
// RUN: %{compile} -O0 2> %t/unoptimized
// RUN: count 0 < %t/unoptimized
// RUN: %{compile} -O2 -DSINGLE_FILE 2> %t/single
// RUN: count 0 < %t/single
// RUN: not %{compile} -O2 -Werror 2> %t/error
// RUN: FileCheck --check-prefix=ERROR --input-file=%t/error %s
// ERROR: error: {{.*}} [-Werror,-Wbackend-plugin]

#pragma omp begin declare target
extern "C" int omp_get_thread_num();

double twice(double value) { return 2 * value; }
double deep(double *w, int n) {
  double t[64], sum = 0;
  for (int i = 0; i < n; i++)
    t[i] = w[i % 3] + i;
  for (int i = 0; i < n; i++)
    sum += t[i * 7 % n];
  return sum;
}
inline double of_each_file(double *w, int n) {
  double t[3] = {w[0], w[1], w[2]};
  return t[n];
}
double uses_inline(double *w, int n) { return of_each_file(w, n); }
namespace {
double own(double *w) { return w[omp_get_thread_num()]; }
} // namespace
#pragma omp end declare target

void launch(double *w) {
#pragma omp target map(tofrom : w[0 : 3])
  w[0] = own(w)
#ifdef SINGLE_FILE
         + deep(w, 2) + uses_inline(w, 2)
#endif
      ;
}
