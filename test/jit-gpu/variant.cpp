// What the JIT's worker makes of a kernel for an NVIDIA GPU: constants and the numbers of the launch are folded, the base image's variables are
// reached through the table, the team's state is the variant's own, and ptxas takes it.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{kernel} =
// DEFINE: %{descriptor} =
// DEFINE: %{assembler} = %S/Inputs/keep-ptx.sh
// DEFINE: %{compile} = env PTX=%t/out.ptx PTXAS=%cuda/bin/ptxas python3 %S/Inputs/compile.py --worker=%dropin/offloom-jit-worker
// DEFINE: %{bundle} = jit.nvptx64-nvidia-cuda.sm_80.jit
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda -B %dropin %s %gpu_options \
// RUN:   %omp_link -Wl,--save-temps -o jit -Xoffload-linker --jit

// Nothing is specialised: all of the launch is asked for.
// RUN: %{compile} %{bundle} count "" %{assembler} plain.cubin | FileCheck --check-prefix=TAKEN %s
// RUN: FileCheck --check-prefix=PLAIN --input-file=out.ptx %s
// TAKEN: count{{.*}}: registers {{[1-9][0-9]*}}, stack frame 0, spill stores 0, spill loads 0, shared memory {{[0-9]+}}, constant memory 376
// PLAIN: .target sm_80
// PLAIN: .visible .entry [[KERNEL:.*count.*]]$jit(
// PLAIN: .maxntid 128{{(, 1, 1)?$}}
// PLAIN-NEXT: .minnctapersm 1
// PLAIN: %ntid.x

// Arguments and launch.
// RUN: %{compile} %{bundle} count "1=i32:100;2=align:8;teams=1;threads=128" %{assembler} count.cubin
// RUN: FileCheck --check-prefix=COUNT --implicit-check-not=ntid.x --implicit-check-not=jit_param_%if llvm-23 %{0%} %else %{1%}] --input-file=out.ptx %s
// COUNT-NOT: counter
// COUNT: .visible .const .align 8 .b8 __offloom_jit_anchor_table[16];
// COUNT-NOT: .global {{.*}} _ZL5calls
// COUNT: .reqntid 128{{(, 1, 1)?$}}
// COUNT-NEXT: .minnctapersm 1
// COUNT-DAG: ld.const.{{[bu]}}64 {{.*}}, [__offloom_jit_anchor_table];
// COUNT-DAG: ld.const.{{[bu]}}64 {{.*}}, [__offloom_jit_anchor_table+8];
// COUNT-DAG: add.s32 {{.*}}, 100;

// The state of a reduction is the team's.
// RUN: %{compile} %{bundle} scale "1=i32:64;4=double:0.5;teams=7;threads=96" %{assembler} scale.cubin
// RUN: FileCheck --check-prefix=SCALE --implicit-check-not=anchor_table --implicit-check-not=ntid.x --input-file=out.ptx %s
// SCALE: .reqntid 96{{(, 1, 1)?$}}
// SCALE: .shared {{.*}}__openmp_nvptx_data_transfer_temporary_storage
// SCALE: 0d3FE0000000000000

// The link's passes may have all threads execute what the bundle has for one: the variant is as the image is, either way.
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda -B %dropin %gpu_options \
// RUN:   %S/../corpus/sources/user_operators.cpp %omp_link -Wl,--save-temps -o operators -Xoffload-linker --jit
// RUN: python3 %S/../jit/Inputs/bundle_bitcode.py operators.nvptx64-nvidia-cuda.sm_80.jit variant.bc matched.bc | FileCheck --check-prefix=GENERIC %s
// GENERIC: launch: generic, threads
// RUN: %{compile} --mode=1 operators.nvptx64-nvidia-cuda.sm_80.jit main_l48 "threads=160" %{assembler} one.cubin
// RUN: FileCheck --check-prefix=ONE --input-file=out.ptx %s
// ONE: .reqntid 160{{(, 1, 1)?$}}
// RUN: %{compile} --mode=3 operators.nvptx64-nvidia-cuda.sm_80.jit main_l48 "threads=128" %{assembler} all.cubin

// A kernel that is launched for one thread cannot become one for all threads.
// RUN: not %{compile} --mode=1 %{bundle} scale "" %{assembler} wrong.cubin | FileCheck --check-prefix=MODE %s
// MODE: failure: `{{.*}}` would be executed by other threads than the base image's

// An assembler that is not there, refuses, prints garbage, crashes, writes nothing, hangs.
// RUN: not %{compile} %{bundle} count "" %t/none none.cubin | FileCheck --check-prefix=NONE %s
// NONE: unable: cannot run the assembler '{{.*}}/none': No such file or directory
// RUN: not %{compile} --assembler-argument=--no-such-option %{bundle} count "" %cuda/bin/ptxas none.cubin | FileCheck --check-prefix=REFUSED %s
// REFUSED: failure: the assembler '{{.*}}ptxas' refuses the code: ptxas fatal{{ *}}: Unknown option '{{-*}}no-such-option'
// RUN: split-file --no-leading-lines %S/Inputs/assemblers.test assemblers && chmod +x assemblers/*
// RUN: not %{compile} %{bundle} count "" %t/assemblers/garbage none.cubin | FileCheck --check-prefix=GARBAGE %s
// GARBAGE: failure: the assembler '{{.*}}' refuses the code: {{x+ *$}}
// RUN: not %{compile} %{bundle} count "" %t/assemblers/crash none.cubin | FileCheck --check-prefix=CRASH %s
// CRASH: unable: the assembler '{{.*}}' was ended by signal 11
// RUN: not %{compile} %{bundle} count "" %t/assemblers/nothing none.cubin | FileCheck --check-prefix=NOTHING %s
// NOTHING: failure: the assembler '{{.*}}' wrote no cubin
// RUN: env CHILD=%t/child not %{compile} --deadline=3000 %{bundle} count "" %t/assemblers/hang none.cubin | FileCheck --check-prefix=LATE %s
// LATE: last failure: the assembler has not ended after 3000 ms
// Its processes are gone with the worker.
// RUN: not kill -0 "$(cat child)"
// RUN: not test -e none.cubin

#pragma omp begin declare target
int counter = 3;
static int calls = 0;
#pragma omp end declare target

double scale(double *x, int n, double a) {
  double sum = 0;
#pragma omp target teams distribute parallel for num_teams(7) thread_limit(96) map(tofrom : x[0 : n]) reduction(+ : sum)
  for (int i = 0; i < n; ++i)
    sum += x[i] * a;
  return sum;
}

void count(double *x, int n) {
#pragma omp target map(tofrom : x[0 : n])
  {
    counter += n;
    calls++;
#pragma omp parallel for
    for (int i = 0; i < n; ++i)
      x[i] = counter + calls;
  }
}

int main() {
  double x[10] = {};
  count(x, 10);
  return scale(x, 4, 0.5) == 0;
}
