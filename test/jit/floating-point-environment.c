// Kernels that set the direction of rounding, have denormal numbers be zeros, or ask which exceptions have happened: LLVM takes none of it for a reason not to
// compute with constants, so they stay ahead of time.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clang -O2 %omp_compile %s -o stock %omp_link -lm && %run_offload ./stock > stock.out && FileCheck --input-file=stock.out %s
// RUN: %clang -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -Wl,--wrapper-verbose %s -o jit %omp_link -lm 2>&1 | FileCheck --check-prefix=LINK %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
// LINK-DAG: stays ahead of time: it calls `fesetround`, which reads or changes the floating-point environment
// LINK-DAG: stays ahead of time: it calls `llvm.x86.sse.{{st|ld}}mxcsr`
// LINK-DAG: stays ahead of time: it calls `fe{{clear|test}}except`
// LINK-DAG: stays ahead of time: its inline assembly names `ldmxcsr`
// LINK-DAG: the JIT may specialise it
#include <fenv.h>
#include <immintrin.h>
#include <stdio.h>

int main(int argc, char **argv) {
  for (int n = argc + 2; n < argc + 4; ++n) {
    float upward = 0, flushed = 0, set = 0, plain = 0;
    int zero = argc - 1, happened = 0;
#pragma omp target map(tofrom : upward) firstprivate(n)
    {
      fesetround(FE_UPWARD);
      for (int i = 0; i < n; ++i)
        upward += 1.0f / n;
      fesetround(FE_TONEAREST);
    }
#pragma omp target map(tofrom : flushed) firstprivate(n)
    {
      unsigned before = _mm_getcsr();
      _mm_setcsr(before | 0x8040);
      flushed = 1e-23f;
      for (int i = 0; i < n; ++i)
        flushed *= 1e-6f * n;
      _mm_setcsr(before);
    }
#pragma omp target map(tofrom : happened) firstprivate(n, zero)
    {
      feclearexcept(FE_ALL_EXCEPT);
      double sum = 0;
      for (int i = 0; i < n; ++i)
        sum += 1.0 / (double)(zero * n);
      happened = fetestexcept(FE_DIVBYZERO) != 0 && sum > 1e300;
    }
#pragma omp target map(tofrom : set) firstprivate(n)
    {
      unsigned before, changed;
      __asm__ volatile("stmxcsr %0" : "=m"(before));
      changed = before | 0x8040;
      __asm__ volatile("ldmxcsr %0" : : "m"(changed));
      set = 1e-23f;
      for (int i = 0; i < n; ++i)
        set *= 1e-6f * n;
      __asm__ volatile("ldmxcsr %0" : : "m"(before));
    }
#pragma omp target map(tofrom : plain) firstprivate(n)
    for (int i = 0; i < n; ++i)
      plain += 1.0f / n;
    // CHECK: flushed 0x0p+0 0x0p+0, happened 1, plain
    printf("upward %a, flushed %a %a, happened %d, plain %a\n", upward, flushed, set, happened, plain);
  }
}
