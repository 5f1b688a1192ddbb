// The kernels of marked functions are what Clang makes of the same target regions, on every target. Limits are attributes of a marked
// function; here only the region with the clauses has them. Where Clang adds something for OpenMP to all functions of a compile, the
// difference is taken away by name. For aarch64, Clang looks at the cross GCC that may be installed, in a compile for the host alone: it gets none.
// RUN: bash %S/Inputs/as_clang.sh %clangxx %opt %passes %s %t "-fopenmp-targets=x86_64-pc-linux-gnu" "--target=x86_64-pc-linux-gnu"
// RUN: bash %S/Inputs/as_clang.sh %clangxx %opt %passes %s %t "-fopenmp-targets=aarch64-linux-gnu" "--target=aarch64-linux-gnu --gcc-toolchain=/nonexistent"
// RUN: bash %S/Inputs/as_clang.sh %clangxx %opt %passes %s %t "-fopenmp-targets=powerpc64le-linux-gnu" "--target=powerpc64le-linux-gnu"
// RUN: bash %S/Inputs/as_clang.sh %clangxx %opt %passes %s %t "-fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_70 -Xopenmp-target --cuda-feature=+ptx78" "--target=nvptx64-nvidia-cuda -march=sm_70 --cuda-feature=+ptx78"
// RUN: bash %S/Inputs/as_clang.sh %clangxx %opt %passes %s %t "-fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target -march=gfx90a" "--target=amdgcn-amd-amdhsa -mcpu=gfx90a"
#ifdef _OPENMP

void regions(float a, long n, double d, char c, bool b, double *p) {
#pragma omp target map(tofrom : p[0 : n])
  p[0] = 1;
#pragma omp target firstprivate(a, n, d, c, b) is_device_ptr(p)
  p[0] = a + n + d + c + b;
#pragma omp target teams num_teams(4) thread_limit(32) is_device_ptr(p)
  p[0] = 1;
}

#else

#define KERNEL __attribute__((annotate("offload:kernel")))
extern "C" {
KERNEL void first(double *p) noexcept { p[0] = 1; }
KERNEL void second(double *p, float a, long n, double d, char c, bool b) noexcept { p[0] = a + n + d + c + b; }
KERNEL void third(double *p) noexcept { p[0] = 1; }
}

#endif
