// Approximations (ex2.approx and the like): ptxas folds those of constants, to other bits than the hardware's. In a variant that has the image's bits, a
// constant that comes in with an argument is not one for ptxas; one of the source is, as it is in the image.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{compile} = env PTX=%t/out.ptx PTXAS=%cuda/bin/ptxas python3 %S/Inputs/compile.py --worker=%dropin/offloom-jit-worker
// DEFINE: %{bundle} = jit.nvptx64-nvidia-cuda.sm_80.jit
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda -B %dropin %s %gpu_options \
// RUN:   %omp_link -Wl,--save-temps -o jit -Xoffload-linker --jit

// RUN: %{compile} %{bundle} grow "3=float:0.5" %S/Inputs/keep-ptx.sh match.cubin
// RUN: FileCheck --check-prefix=MATCH --input-file=out.ptx %s
// MATCH: .visible .const .align 8 .u64 __offloom_jit_zero;
// MATCH: ld.const.{{[bu](32|64)}} {{.*}}[__offloom_jit_zero]
// MATCH: xor.b32
// MATCH: ex2.approx.ftz.f32

// A constant of the source stays one, as in the image.
// RUN: %{compile} %{bundle} literal "3=float:0.5" %S/Inputs/keep-ptx.sh literal.cubin
// RUN: FileCheck --check-prefix=LITERAL --implicit-check-not=jit_zero --input-file=out.ptx %s
// LITERAL: ex2.approx.ftz.f32

// Not where results may be those of the source.
// RUN: %{compile} --source %{bundle} grow "3=float:0.5" %S/Inputs/keep-ptx.sh source.cubin
// RUN: FileCheck --check-prefix=SOURCE --implicit-check-not=jit_zero --input-file=out.ptx %s
// SOURCE: ex2.approx.ftz.f32

// Nor where no constant comes to one.
// RUN: %{compile} %{bundle} grow "1=i32:100" %S/Inputs/keep-ptx.sh other.cubin
// RUN: FileCheck --check-prefix=OTHER --implicit-check-not=jit_zero --input-file=out.ptx %s
// OTHER: ex2.approx.ftz.f32

// Through selections, phis and arithmetic.
// RUN: %{compile} %{bundle} chosen "3=float:0.5;4=float:0.25" %S/Inputs/keep-ptx.sh chosen.cubin
// RUN: FileCheck --check-prefix=CHOSEN --input-file=out.ptx %s
// CHOSEN: __offloom_jit_zero;
// CHOSEN: {{xor.b32}}
// CHOSEN: sin.approx

// Limits are hidden where the kernel starts, and not in each round.
// RUN: %{compile} %{bundle} solve "3=i32:40;4=float:0.25;5=float:0.75" %S/Inputs/keep-ptx.sh solve.cubin
// RUN: FileCheck --check-prefix=SOLVE --input-file=out.ptx %s
// SOLVE: ld.const{{.*}}[__offloom_jit_zero]
// SOLVE-COUNT-2: xor.b32
// SOLVE: {{^}}$L
// SOLVE-NOT: xor.b
// SOLVE: ex2.approx
// SOLVE-NOT: xor.b

// An approximation of a constant of the source is as it is in the image, though its result comes to another one.
// RUN: %{compile} %{bundle} again "2=i32:40;3=float:0.25" %S/Inputs/keep-ptx.sh again.cubin
// RUN: FileCheck --check-prefix=AGAIN --input-file=out.ptx %s
// AGAIN-NOT: xor.b32
// AGAIN: ex2.approx
// AGAIN: xor.b32
// AGAIN: ex2.approx

// No text of ours is left.
// RUN: not grep -i hidden out.ptx
// RUN: not grep 'must not see' out.ptx

#include <cmath>

void grow(float *x, float a, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n])
  for (int i = 0; i < n; ++i)
    x[i] = x[i] * expf(a);
}

void literal(float *x, float a, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n])
  for (int i = 0; i < n; ++i)
    x[i] = x[i] * expf(0.7f) + a;
}

void chosen(float *x, float a, float b, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n])
  for (int i = 0; i < n; ++i) {
    float value = x[i] > 0 ? a : b;
#ifdef __NVPTX__
    asm("sin.approx.f32 %0, %1;" : "=f"(value) : "f"(value));
#endif
    x[i] = value;
  }
}

void solve(float *x, int rounds, float low, float high, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n])
  for (int i = 0; i < n; ++i) {
    float value = x[i];
    for (int round = 0; round < rounds; ++round) {
      value = 0.01f * expf(value);
      value = value < low ? low : value > high ? high : value;
    }
    x[i] = value;
  }
}

void again(float *x, int rounds, float scale, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n])
  for (int i = 0; i < n; ++i) {
    float value = expf(0.7f);
    for (int round = 0; round < rounds; ++round)
      value = expf(value * scale);
    x[i] = value;
  }
}

int main() {
  float x[4] = {1, 2, 3, 4};
  grow(x, 0.5f, 4);
  literal(x, 0.5f, 4);
  chosen(x, 0.5f, 0.25f, 4);
  solve(x, 40, 0.25f, 0.75f, 4);
  again(x, 40, 0.25f, 4);
  return x[0] == 0;
}
