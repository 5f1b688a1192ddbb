// Floating-point results of specialised code, on a processor that may be wider than the ahead-of-time code's, bit for bit. In the mode
// `source` every rule's rewrite is seen to change some.
// RUN: bash %S/Inputs/compare.sh %llvm_bin %passes %s %t x86-64
// RUN: FileCheck %s --check-prefix=MATCH --input-file=%t.match
// RUN: FileCheck %s --check-prefixes=SOURCE%if !rounded-mathematics %{,FOLDED%}%if !llvm-23 %{,EARLIER%} --input-file=%t.source
// Ahead-of-time code that has fused multiplications and additions: they stay.
// RUN: bash %S/Inputs/compare.sh %llvm_bin %passes %s %t.v3 x86-64-v3
// RUN: FileCheck %s --check-prefix=MATCH --input-file=%t.v3.match
// Mathematical functions that need not set `errno` are intrinsics: most of them with LLVM 22, fewer with LLVM 19.
// RUN: bash %S/Inputs/compare.sh %llvm_bin %passes %s %t.intrinsics x86-64 -fno-math-errno
// RUN: FileCheck %s --check-prefix=MATCH --input-file=%t.intrinsics.match
// RUN: %if !rounded-mathematics %{ FileCheck %s --check-prefixes=INTRINSICS%if llvm-22 %{,INTRINSICS-22%} --input-file=%t.intrinsics.source %}
// INTRINSICS-DAG: log10f_arg0_float_
// INTRINSICS-22-DAG: sinhf_arg0_float_
// INTRINSICS-22-DAG: atanf_arg0_float_
// INTRINSICS-22-DAG: sincosf_arg0_float_

// MATCH-NOT: _
// MATCH: --none--

// Library calls that are rewritten, by LLVM 23 only where they need not set `errno`.
// EARLIER-DAG: square_arg1_double_0x4000000000000000
// EARLIER-DAG: inverse_arg1_double_0xbff0000000000000
// EARLIER-DAG: power_arg0_double_0x4020000000000000
// EARLIER-DAG: squaref_arg1_float_0x40000000
// EARLIER-DAG: powerf_arg0_float_0x41000000
// And those that are folded with the compiling machine's library: its functions for `double` then stand for those for `float`, which the C
// library of Debian 13 (2.41) rounds as correctly.
// FOLDED-DAG: sinhf_arg0_float_
// FOLDED-DAG: log10f_arg0_float_
// FOLDED-DAG: atan2f_arg0_float_
// Multiplications and additions of constants, fused when folded.
// SOURCE-DAG: fused_arg1_double_
// Numbers that do not fit into a small integer.
// SOURCE-DAG: u8_arg0_float_0x43960000
// SOURCE-DAG: s16_arg0_float_0x47c35000
// SOURCE-DAG: u16d_arg0_double_0xc24e848000000000
// SOURCE-DAG: s8d_arg0_double_0x4049000000000000
// The sign of zero. (With Clang 23, `fmin` and `fmax` may choose either, and code that calls them is not specialised in the mode `match`.)
// EARLIER-DAG: least_arg1_double_0x8000000000000000
// EARLIER-DAG: greatest_arg1_double_0x0
// Reductions of `simd` loops: unrolled before they could be vectorised, or vectorised otherwise.
// SOURCE-DAG: sum_arg1_i32_7
// SOURCE-DAG: sumf_arg1_i32_16
// SOURCE-DAG: sum4_arg1_i32_16
// SOURCE-DAG: product_arg1_i32_7
// SOURCE-DAG: strided_arg2_i32_2
// One that becomes possible to vectorise.
// SOURCE-DAG: partly_arg2_i32_0
// Iterations that get a base of their own.
// SOURCE-DAG: series_arg1_i32_4

#define _GNU_SOURCE
#include <math.h>

#define COUNTS(F) F(1) F(2) F(3) F(4) F(7) F(8) F(16) F(17) F(32) F(64) F(100) F(1000)
#define STRIDES(F) F(1) F(2) F(5)
// 0.0625, 0.1125, 0.15, 0.2375, 0.7, 0.9, 1.075, 1.3, 2.9
#define FLOATS(F)                                                                                                      \
  F(0x3d800000) F(0x3de66667) F(0x3e19999a) F(0x3e733333) F(0x3f333333) F(0x3f666666) F(0x3f89999a) F(0x3fa66666) F(0x4039999a)
// 0.1, 1.3
#define DOUBLES(F) F(0x3fb999999999999a) F(0x3ff4cccccccccccd)
#if __clang_major__ < 23
#define ZEROS(F) F(0x0) F(0x8000000000000000)
#else
#define ZEROS(F)
#endif
// 300, 100000, -3e9, a NaN, infinity; of double, 50 (which is 300 with the rest) in the place of the first.
#define WIDE(F) F(0x43960000) F(0x47c35000) F(0xcf32d05e) F(0x7fc00000) F(0x7f800000)
#define WIDE_DOUBLES(F)                                                                                                \
  F(0x4049000000000000) F(0x40f86a0000000000) F(0xc24e848000000000) F(0x7ff8000000000000) F(0x7ff0000000000000)

#ifdef MAIN
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define BODY(...) ;
#else
#define BODY(...) { __VA_ARGS__ }
#endif

#define SQUARE(v) double square_arg1_double_##v(double x, double y) BODY(return pow(x, y);)
#define INVERSE(v) double inverse_arg1_double_##v(double x, double y) BODY(return pow(x, y);)
#define POWER(v) double power_arg0_double_##v(double y, double x) BODY(return pow(y, x);)
#define SQUAREF(v) float squaref_arg1_float_##v(float x, float y) BODY(return powf(x, y);)
#define POWERF(v) float powerf_arg0_float_##v(float y, float x) BODY(return powf(y, x);)
SQUARE(0x4000000000000000)
INVERSE(0xbff0000000000000)
POWER(0x4020000000000000)
SQUAREF(0x40000000)
POWERF(0x41000000)

#define SINHF(v) float sinhf_arg0_float_##v(float s) BODY(return sinhf(s);)
#define LOG10F(v) float log10f_arg0_float_##v(float s) BODY(return log10f(s);)
#define ATAN2F(v) float atan2f_arg0_float_##v(float s) BODY(return atan2f(s, 0.9f);)
#define LOG1PF(v) float log1pf_arg0_float_##v(float s) BODY(return log1pf(s);)
#define ERFF(v) float erff_arg0_float_##v(float s) BODY(return erff(s);)
FLOATS(SINHF) FLOATS(LOG10F) FLOATS(ATAN2F) FLOATS(LOG1PF) FLOATS(ERFF)
#define ACOSF(v) float acosf_arg0_float_##v(float s) BODY(return acosf(s);)
#define ASINF(v) float asinf_arg0_float_##v(float s) BODY(return asinf(s);)
#define ATANF(v) float atanf_arg0_float_##v(float s) BODY(return atanf(s);)
#define COSHF(v) float coshf_arg0_float_##v(float s) BODY(return coshf(s);)
#define TANHF(v) float tanhf_arg0_float_##v(float s) BODY(return tanhf(s);)
#define TANF(v) float tanf_arg0_float_##v(float s) BODY(return tanf(s);)
#define SINCOSF(v)                                                                                                     \
  float sincosf_arg0_float_##v(float s) BODY(float sine, cosine; sincosf(s, &sine, &cosine); return sine * cosine;)
#define MODFF(v) float modff_arg0_float_##v(float s) BODY(float whole, part = modff(s * 3, &whole); return part - whole;)
FLOATS(ACOSF) FLOATS(ASINF) FLOATS(ATANF) FLOATS(COSHF) FLOATS(TANHF) FLOATS(TANF) FLOATS(SINCOSF) FLOATS(MODFF)

// In the source already: rewritten and folded ahead of time too.
double literal_arg1_double_0x3ff0000000000000(double x, double unused) BODY(return pow(x, 2.0) + log10f(0.7f);)

#define FUSED(v) double fused_arg1_double_##v(double a, double s) BODY(return a + (s * s + -s * 0.1);)
#define AXPY(v) double axpy_arg1_double_##v(double x, double s) BODY(return x * x + s;)
#define HORNER(v) double horner_arg1_double_##v(double x, double s) BODY(return ((x * s + s) * x + s) * x + s;)
DOUBLES(FUSED) DOUBLES(AXPY) DOUBLES(HORNER)

// The one is added so that a result of nothing at all differs from zero.
#define U8(v) double u8_arg0_float_##v(float s) BODY(return (unsigned char)s | 1;)
#define S8(v) double s8_arg0_float_##v(float s) BODY(return (signed char)s | 1;)
#define U16(v) double u16_arg0_float_##v(float s) BODY(return (unsigned short)s | 1;)
#define S16(v) double s16_arg0_float_##v(float s) BODY(return (short)s | 1;)
#define U8D(v) double u8d_arg0_double_##v(double s) BODY(return (unsigned char)(s * 6) | 1;)
#define S8D(v) double s8d_arg0_double_##v(double s) BODY(return (signed char)(s * 6) | 1;)
#define U16D(v) double u16d_arg0_double_##v(double s) BODY(return (unsigned short)(s * 6) | 1;)
#define S16D(v) double s16d_arg0_double_##v(double s) BODY(return (short)(s * 6) | 1;)
WIDE(U8) WIDE(S8) WIDE(U16) WIDE(S16) WIDE_DOUBLES(U8D) WIDE_DOUBLES(S8D) WIDE_DOUBLES(U16D) WIDE_DOUBLES(S16D)

#define LEAST(v) double least_arg1_double_##v(double x, double y) BODY(return fmin(x, y);)
#define GREATEST(v) double greatest_arg1_double_##v(double x, double y) BODY(return fmax(x, y);)
ZEROS(LEAST) ZEROS(GREATEST)
// With a constant in the source, of which code generation knows that it is no NaN.
#define RAMP(v) double ramp_arg1_double_##v(double x, double y) BODY(return fmax(x * y, 0.0);)
#define DIP(v) double dip_arg1_double_##v(double x, double y) BODY(return fmin(x * y, -0.0);)
#define CLAMP(v) double clamp_arg1_double_##v(double x, double y) BODY(return fmin(fmax(-0.0, x * y), 1.0);)
ZEROS(RAMP) ZEROS(DIP) ZEROS(CLAMP)
// With what code generation knows to be no NaN where it sees how it is computed: an integer's value, a limited one.
#define STEP(v) double step_arg1_double_##v(double x, double y) BODY(return fmax(x * y, (double)(long)(x + y - x));)
#define EDGE(v) double edge_arg1_double_##v(double x, double y) BODY(return fmin((double)(long)(x + y - x), x * y);)
#define LIMIT(v) double limit_arg1_double_##v(double x, double y) BODY(return fmin(x * y, fabs(fmax(x, 0.0)));)
#define BRANCH(v) \
  double branch_arg1_double_##v(double x, double y) BODY(double least = (double)(long)(x + y - x); return x * y < 0.5 ? fmax(x * y, least) : 0.5;)
ZEROS(STEP) ZEROS(EDGE) ZEROS(LIMIT) ZEROS(BRANCH)

#define LOOP(clause, statement) _Pragma(clause) for (int i = 0; i < n; i++) statement;
#define SUM(v)                                                                                                         \
  double sum_arg1_i32_##v(const double *x, int n)                                                                      \
      BODY(double s = 0; LOOP("omp simd reduction(+ : s)", s += x[i]) return s;)
#define SUMF(v)                                                                                                        \
  float sumf_arg1_i32_##v(const float *x, int n) BODY(float s = 0; LOOP("omp simd reduction(+ : s)", s += x[i]) return s;)
#define SUM4(v)                                                                                                        \
  double sum4_arg1_i32_##v(const double *x, int n)                                                                     \
      BODY(double s = 0; LOOP("omp simd simdlen(4) reduction(+ : s)", s += x[i] * x[i]) return s;)
#define PRODUCT(v)                                                                                                     \
  double product_arg1_i32_##v(const double *x, int n)                                                                  \
      BODY(double s = 1; LOOP("omp simd reduction(* : s)", s *= x[i] * 0.3) return s;)
#define PLAIN(v)                                                                                                       \
  double plain_arg1_i32_##v(const double *x, int n) BODY(double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s;)
// The vectoriser would take the fused operation of x86-64-v3 apart.
#define DOT(v)                                                                                                         \
  double dot_arg1_i32_##v(const double *x, int n)                                                                      \
      BODY(double s = 0; for (int i = 0; i < n; i++) s += x[i] * x[i + 1]; return s;)
#define SERIES(v)                                                                                                      \
  double series_arg1_i32_##v(const double *x, int n)                                                                   \
      BODY(double s = 0; for (int i = 0; i < n; i++) s += pow(1 << i, x[i]); return s;)
#define STRIDED(v)                                                                                                     \
  double strided_arg2_i32_##v(const double *x, int n, int stride)                                                      \
      BODY(double s = 0; LOOP("omp simd reduction(+ : s)", s += x[i * stride]) return s;)
#define PARTLY(v)                                                                                                      \
  double partly_arg2_i32_##v(const double *x, int n, int m)                                                            \
      BODY(double s = 0; LOOP("omp simd reduction(+ : s)", s += i < m ? sin(x[i]) : x[i]) return s;)
PARTLY(0) COUNTS(SUM) COUNTS(SUMF) COUNTS(SUM4) COUNTS(PRODUCT) COUNTS(PLAIN) COUNTS(DOT) SERIES(4) STRIDES(STRIDED)

#ifdef MAIN
static uint64_t hash;

static void add(double value) {
  uint64_t bits = 0;
  // The bits of a NaN are anything.
  if (value == value)
    memcpy(&bits, &value, sizeof bits);
  hash = (hash ^ bits) * 1099511628211u ^ hash >> 29;
}

static double random_value(void) {
  static uint64_t seed = 1;
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(seed >> 12) / (double)(1ull << 50) + 0.001;
}

static double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double x[5000];
static float xf[5000];

#define SHOW(name, statement) hash = 1; { statement; } printf("%s %016lx\n", #name, hash);
#define EACH(name, call) SHOW(name, for (int k = 0; k < 5000; k++) add(call))
#define SECOND(name, v) EACH(name##_arg1_double_##v, name##_arg1_double_##v(x[k], double_of(v)))
#define RUN_FLOAT(name, v) SHOW(name##_arg0_float_##v, add(name##_arg0_float_##v(float_of(v))))
#define RUN_SINHF(v) RUN_FLOAT(sinhf, v)
#define RUN_LOG10F(v) RUN_FLOAT(log10f, v)
#define RUN_ATAN2F(v) RUN_FLOAT(atan2f, v)
#define RUN_LOG1PF(v) RUN_FLOAT(log1pf, v)
#define RUN_ERFF(v) RUN_FLOAT(erff, v)
#define RUN_ACOSF(v) RUN_FLOAT(acosf, v)
#define RUN_ASINF(v) RUN_FLOAT(asinf, v)
#define RUN_ATANF(v) RUN_FLOAT(atanf, v)
#define RUN_COSHF(v) RUN_FLOAT(coshf, v)
#define RUN_TANHF(v) RUN_FLOAT(tanhf, v)
#define RUN_TANF(v) RUN_FLOAT(tanf, v)
#define RUN_SINCOSF(v) RUN_FLOAT(sincosf, v)
#define RUN_MODFF(v) RUN_FLOAT(modff, v)
#define RUN_DOUBLE(name, v) SHOW(name##_arg0_double_##v, add(name##_arg0_double_##v(double_of(v))))
#define RUN_U8(v) RUN_FLOAT(u8, v)
#define RUN_S8(v) RUN_FLOAT(s8, v)
#define RUN_U16(v) RUN_FLOAT(u16, v)
#define RUN_S16(v) RUN_FLOAT(s16, v)
#define RUN_U8D(v) RUN_DOUBLE(u8d, v)
#define RUN_S8D(v) RUN_DOUBLE(s8d, v)
#define RUN_U16D(v) RUN_DOUBLE(u16d, v)
#define RUN_S16D(v) RUN_DOUBLE(s16d, v)
#define RUN_FUSED(v) SHOW(fused_arg1_double_##v, add(fused_arg1_double_##v(0, double_of(v))))
#define RUN_AXPY(v) SECOND(axpy, v)
#define RUN_HORNER(v) SECOND(horner, v)
#define RUN_ZERO(name, v) SHOW(name##_arg1_double_##v, add(name##_arg1_double_##v(-double_of(v), double_of(v))))
#define RUN_LEAST(v) RUN_ZERO(least, v)
#define RUN_GREATEST(v) RUN_ZERO(greatest, v)
#define RUN_BOTH(name, v)                                                                                              \
  SHOW(name##_arg1_double_##v, add(name##_arg1_double_##v(1, double_of(v))); add(name##_arg1_double_##v(-1, double_of(v))))
#define RUN_RAMP(v) RUN_BOTH(ramp, v)
#define RUN_DIP(v) RUN_BOTH(dip, v)
#define RUN_CLAMP(v) RUN_BOTH(clamp, v)
#define RUN_STEP(v) RUN_BOTH(step, v)
#define RUN_EDGE(v) RUN_BOTH(edge, v)
#define RUN_LIMIT(v) RUN_BOTH(limit, v)
#define RUN_BRANCH(v) RUN_BOTH(branch, v)
#define ROWS(name, x, v) SHOW(name##_arg1_i32_##v, for (int k = 0; k < 1000; k++) add(name##_arg1_i32_##v(x + k, v)))
#define RUN_SUM(v) ROWS(sum, x, v)
#define RUN_SUMF(v) ROWS(sumf, xf, v)
#define RUN_SUM4(v) ROWS(sum4, x, v)
#define RUN_PRODUCT(v) ROWS(product, x, v)
#define RUN_PLAIN(v) ROWS(plain, x, v)
#define RUN_DOT(v) ROWS(dot, x, v)
#define RUN_SERIES(v) ROWS(series, x, v)
#define RUN_STRIDED(v)                                                                                                 \
  SHOW(strided_arg2_i32_##v, for (int k = 0; k < 1000; k++) add(strided_arg2_i32_##v(x + k, 777, v)))

int main(void) {
  for (int i = 0; i < 5000; i++)
    xf[i] = x[i] = random_value();
  SECOND(square, 0x4000000000000000)
  SECOND(inverse, 0xbff0000000000000)
  EACH(power_arg0_double_0x4020000000000000, power_arg0_double_0x4020000000000000(8, x[k]))
  EACH(squaref_arg1_float_0x40000000, squaref_arg1_float_0x40000000(xf[k], 2))
  EACH(powerf_arg0_float_0x41000000, powerf_arg0_float_0x41000000(8, xf[k]))
  FLOATS(RUN_SINHF) FLOATS(RUN_LOG10F) FLOATS(RUN_ATAN2F) FLOATS(RUN_LOG1PF) FLOATS(RUN_ERFF)
  FLOATS(RUN_ACOSF) FLOATS(RUN_ASINF) FLOATS(RUN_ATANF) FLOATS(RUN_COSHF) FLOATS(RUN_TANHF) FLOATS(RUN_TANF)
  FLOATS(RUN_SINCOSF) FLOATS(RUN_MODFF)
  WIDE(RUN_U8) WIDE(RUN_S8) WIDE(RUN_U16) WIDE(RUN_S16)
  WIDE_DOUBLES(RUN_U8D) WIDE_DOUBLES(RUN_S8D) WIDE_DOUBLES(RUN_U16D) WIDE_DOUBLES(RUN_S16D)
  SECOND(literal, 0x3ff0000000000000)
  DOUBLES(RUN_FUSED) DOUBLES(RUN_AXPY) DOUBLES(RUN_HORNER) ZEROS(RUN_LEAST) ZEROS(RUN_GREATEST)
  ZEROS(RUN_RAMP) ZEROS(RUN_DIP) ZEROS(RUN_CLAMP) ZEROS(RUN_STEP) ZEROS(RUN_EDGE) ZEROS(RUN_LIMIT) ZEROS(RUN_BRANCH)
  COUNTS(RUN_SUM) COUNTS(RUN_SUMF) COUNTS(RUN_SUM4) COUNTS(RUN_PRODUCT) COUNTS(RUN_PLAIN) COUNTS(RUN_DOT) RUN_SERIES(4)
  STRIDES(RUN_STRIDED)
  SHOW(partly_arg2_i32_0, for (int k = 0; k < 1000; k++) add(partly_arg2_i32_0(x + k, 777, 0)))
}
#endif
