// Numbers that do not fit into the integers of 8 or 16 bits that they are converted to (C++ does not say what becomes of them) give the bits of
// the ahead-of-time code: in loops that it vectorises, where code generation lets integers saturate; in other code, where it cuts them off; and
// where a constant of the launch is converted. Code for a processor with wider vectors would cut off in both, and a constant gives anything.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o usual %omp_link -lm
// RUN: env OFFLOOM_JIT=off %run_offload ./usual > usual.off
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./usual > usual.sync 2> usual.log
// RUN: diff usual.off usual.sync
// RUN: grep -c '1 launch ran a variant' usual.log | FileCheck --check-prefix=RAN %s
// RAN: {{^56$}}

// The stock program has these bits, too.
// RUN: %clangxx -O2 %omp_compile -foffload-lto=thin %s -o stock %omp_link -lm
// RUN: %run_offload ./stock > stock.out
// RUN: diff stock.out usual.off

// With code vectorised by Clang, and for a processor with wider vectors, as far as this machine's has them.
// RUN: bash -c 'grep -qw avx2 /proc/cpuinfo && echo -march=haswell || echo -march=x86-64' > processor
// RUN: %clangxx -O3 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -Xopenmp-target=x86_64-pc-linux-gnu @processor %s -o wide %omp_link -lm
// RUN: env OFFLOOM_JIT=off %run_offload ./wide > wide.off
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./wide > wide.sync
// RUN: diff wide.off wide.sync

// Not optimised.
// RUN: %clangxx -O0 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o plain %omp_link -lm
// RUN: env OFFLOOM_JIT=off %run_offload ./plain > plain.off
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./plain > plain.sync
// RUN: diff plain.off plain.sync
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

template <class T> static void show(const char *name, const std::vector<T> &all) {
  unsigned long long hash = 0;
  for (T one : all)
    hash = (hash ^ (unsigned long long)(long long)one) * 1099511628211u ^ hash >> 29;
  printf("%s %llx %d %d\n", name, hash, (int)all[5], (int)all[7]);
}

// Kernels without templates have names that can be read.
#define KERNELS(N, To, From)                                                                                           \
  void N##_stored(long n, const From *a, To *t) {                                                                      \
    _Pragma("omp target teams distribute parallel for map(to : a[ : n]) map(from : t[ : n])")                          \
    for (long i = 0; i < n; i++)                                                                                       \
      t[i] = a[i];                                                                                                     \
  }                                                                                                                    \
  void N##_extended(long n, From factor, const From *a, From *t) {                                                     \
    _Pragma("omp target teams distribute parallel for map(to : a[ : n]) map(from : t[ : n])")                          \
    for (long i = 0; i < n; i++)                                                                                       \
      t[i] = (To)a[i] * factor + (From)(int)(To)(a[i] * factor);                                                       \
  }                                                                                                                    \
  void N##_strided(long n, long stride, const From *a, To *t) {                                                        \
    _Pragma("omp target map(to : a[ : n]) map(tofrom : t[ : n])")                                                      \
    for (long i = 0; i < n / stride; i++)                                                                              \
      t[i * stride] = a[i * stride] + 1;                                                                               \
  }                                                                                                                    \
  void N##_scalar(long n, const From *a, To *t) {                                                                      \
    _Pragma("omp target map(to : a[ : n]) map(from : t[ : n])") {                                                      \
      To last = 3;                                                                                                     \
      for (long i = 0; i < n; i++)                                                                                     \
        t[i] = last = (To)(a[i] + last);                                                                               \
    }                                                                                                                  \
  }                                                                                                                    \
  void N##_pixels(long n, From gain, const From *a, To *t) {                                                           \
    _Pragma("omp target teams distribute parallel for map(to : a[ : n]) map(tofrom : t[ : n])")                        \
    for (long i = 0; i < n / 4; i++) {                                                                                 \
      From sum = 0;                                                                                                    \
      for (long k = 0; k < n / 1024; k++)                                                                              \
        sum += a[4 * k];                                                                                               \
      t[4 * i] = a[4 * i] * gain, t[4 * i + 1] = a[4 * i + 1] * gain;                                                  \
      t[4 * i + 2] = a[4 * i + 2] * gain, t[4 * i + 3] = a[4 * i + 3] * gain + sum * 0;                                \
    }                                                                                                                  \
  }                                                                                                                    \
  void N##_chosen(long n, From other, const From *a, To *t) {                                                          \
    _Pragma("omp target teams distribute parallel for map(to : a[ : n]) map(from : t[ : n])")                          \
    for (long i = 0; i < n; i++)                                                                                       \
      t[i] = a[i] > 1000 ? a[i] : other;                                                                               \
  }                                                                                                                    \
  void N##_constant(long n, From x, From y, int *t) {                                                                  \
    _Pragma("omp target teams distribute parallel for map(from : t[ : n])")                                            \
    for (long i = 0; i < n; i++)                                                                                       \
      t[i] = x > 1 && y < -1 ? ((To)x | (int)i) + (To)(x * y) + ((To)y << 8) : 0;                                      \
  }                                                                                                                    \
  static void N(const std::vector<double> &numbers) {                                                                  \
    long n = (long)numbers.size();                                                                                     \
    std::vector<From> a(numbers.begin(), numbers.end()), f(n);                                                         \
    std::vector<To> t(n);                                                                                              \
    std::vector<int> w(n);                                                                                             \
    N##_stored(n, a.data(), t.data()), show(#N " stored", t);                                                          \
    N##_extended(n, 0.75, a.data(), f.data());                                                                         \
    for (long i = 0; i < n; i++)                                                                                       \
      w[i] = std::isfinite(f[i]) && std::fabs(f[i]) < 1e9 ? (int)(f[i] * 4) : -7;                                      \
    show(#N " extended", w);                                                                                           \
    N##_strided(n, 3, a.data(), t.data()), show(#N " strided", t);                                                     \
    N##_scalar(n, a.data(), t.data()), show(#N " scalar", t);                                                          \
    N##_pixels(n, 1.25, a.data(), t.data()), show(#N " pixels", t);                                                    \
    N##_chosen(n, 70001, a.data(), t.data()), show(#N " chosen", t);                                                   \
    N##_constant(n, 70321.5, -3e9, w.data()), show(#N " constant", w);                                                 \
  }
KERNELS(u8_f32, unsigned char, float)
KERNELS(s8_f32, signed char, float)
KERNELS(u16_f32, unsigned short, float)
KERNELS(s16_f32, short, float)
KERNELS(u8_f64, unsigned char, double)
KERNELS(s8_f64, signed char, double)
KERNELS(u16_f64, unsigned short, double)
KERNELS(s16_f64, short, double)

int main() {
  const double special[] = {-1,     255,        256,         300,        -129,  1e5,   70000.75,     -40000.25,
                            3e9,    -3e9,       2147483648., -2147483648., 65535, 65536, -2147483649., 4294967295.,
                            0x1p40, -0x1p63,    1e30,        -1e300,     0.75,  -0.75, 32767,        -32769};
  std::vector<double> numbers(special, special + sizeof special / sizeof *special);
  numbers.push_back(std::numeric_limits<double>::infinity());
  numbers.push_back(-std::numeric_limits<double>::infinity());
  numbers.push_back(std::numeric_limits<double>::quiet_NaN());
  unsigned long long seed = 1;
  while (numbers.size() < 4099) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    numbers.push_back(((double)(seed >> 12) / (double)(1ull << 52) - 0.5) * (double)(1 << (seed >> 7) % 20));
    numbers.push_back(numbers[seed % 27]);
  }
  u8_f32(numbers), s8_f32(numbers), u16_f32(numbers), s16_f32(numbers);
  u8_f64(numbers), s8_f64(numbers), u16_f64(numbers), s16_f64(numbers);
}
