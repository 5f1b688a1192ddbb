// ZAXPY of Clang's offloading design, Y = D * X + Y on complex numbers, with its numbers and its times shown.
//
// Usage: zaxpy [N [FILE [LAUNCHES]]]: N elements (1024), the bits of Y written to FILE (not written), so many launches (1).
// Prints one line, times in milliseconds: the first launch, and the fastest of the others.
//
// Built by the stock tools, by ours in their place, and for the JIT, it computes the same bits.
// REQUIRES: x86_64-device
// RUN: %clangxx -O2 %omp_compile %s -o %t.stock %omp_link
// RUN: %run_offload %t.stock 1024 %t.stock.numbers | FileCheck %s
// RUN: %clangxx -O2 -B %dropin %omp_compile %s -o %t.drop-in %omp_link
// RUN: %run_offload %t.drop-in 1024 %t.drop-in.numbers | FileCheck %s
// RUN: cmp %t.stock.numbers %t.drop-in.numbers
// RUN: %clangxx -O2 -B %dropin -foffload-lto -Xoffload-linker --jit %omp_compile %s -o %t.jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload %t.jit 1024 %t.jit.numbers 3 2>&1 \
// RUN:   | FileCheck --check-prefix=JIT %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload %t.jit 1024 %t.jit.once.numbers | FileCheck %s
// RUN: cmp %t.jit.once.numbers %t.stock.numbers
//
// CHECK: N = 1024, Y[1023] = (
// JIT: 3 launches ran a variant
#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <vector>

using complex = std::complex<double>;

void zaxpy(complex *X, complex *Y, complex D, std::size_t N) {
#pragma omp target teams distribute parallel for
  for (std::size_t i = 0; i < N; ++i)
    Y[i] = D * X[i] + Y[i];
}

int main(int argc, char **argv) {
  const std::size_t N = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
  const char *file_name = argc > 2 ? argv[2] : nullptr;
  const int launches = argc > 3 ? std::atoi(argv[3]) : 1;

  std::vector<complex> x(N), y(N);
  const complex D(0.1, -0.7);
  for (std::size_t i = 0; i < N; ++i) {
    x[i] = complex(1.0 / (i + 1), 0.3 * i);
    y[i] = complex(i % 17, -1.0 / (i + 3));
  }
  complex *X = x.data(), *Y = y.data();
  double first = 0, fastest = 1e300;
#pragma omp target data map(to : X[0 : N]) map(tofrom : Y[0 : N])
  for (int launch = 0; launch < launches; ++launch) {
    const auto start = std::chrono::steady_clock::now();
    zaxpy(X, Y, D, N);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (launch == 0)
      first = time.count();
    else
      fastest = std::min(fastest, time.count());
  }

  std::printf("N = %zu, Y[%zu] = (%.17g, %.17g)", N, N - 1, y[N - 1].real(), y[N - 1].imag());
  if (launches > 1)
    std::printf(", first launch %.3f ms, fastest later %.3f ms", first, fastest);
  std::printf("\n");
  if (file_name) {
    std::FILE *file = std::fopen(file_name, "wb");
    const bool written = file && std::fwrite(Y, sizeof(complex), N, file) == N;
    if (!file || std::fclose(file) != 0 || !written) {
      std::perror(file_name);
      return 1;
    }
  }
}
