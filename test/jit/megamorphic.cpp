// An argument that is megamorphic, since every launch has another value, is remembered: in the next run it is so at its first change,
// and compiles nothing for values that change. A run whose launches have one value is specialised to it all the same. After a day, and
// with a damaged file, it is found out anew.
// REQUIRES: x86_64-device
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_STATS=stats OFFLOOM_JIT_THRESHOLD=4 OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache
// DEFINE: %{cache} = env OFFLOOM_JIT_CACHE_DIR=%t/cache %offloom cache
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=off %run_offload ./jit 1 12 > expected

// T is 4: five values, and then one variant for all.
// RUN: %{run} %run_offload ./jit 1 12 2> first | cmp - expected
// RUN: FileCheck --check-prefix=FIRST --implicit-check-not='changing lately' --input-file=first %s
// FIRST-COUNT-5: compiled in {{.*}}=i32:0x{{[1-5]}};{{.*}}=i32:0x7
// FIRST: sum{{.*}}: value of argument [[#]] keeps changing: it is no longer specialised
// FIRST: compiled in {{.*}}=any;{{.*}}=i32:0x7
// FIRST-NOT: compiled in
// RUN: %offloom explain stats | FileCheck --check-prefix=TOO-OFTEN %s
// TOO-OFTEN: not specialised: it changes too often

// The same launches again, on two devices: what is needed is there, and of the values only the first is asked for.
// RUN: %{run} %run_offload ./jit 1 12 1 2> second | cmp - expected
// RUN: FileCheck --check-prefix=SECOND --implicit-check-not='compiled in' --implicit-check-not='keeps changing' --implicit-check-not='=i32:0x{{[2-9a-f]}};{{.*}}=i32' --input-file=second %s
// SECOND: found in the cache, for {{.*}}=i32:0x1;{{.*}}=i32:0x7
// SECOND: sum{{.*}}: value of argument [[#]] kept changing lately: its first change is the last
// SECOND: found in the cache, for {{.*}}=any;{{.*}}=i32:0x7
// RUN: %offloom explain stats | FileCheck --check-prefix=EARLIER %s
// EARLIER: not specialised: it changes, and an earlier run found that it does too often

// Four devices with the same values, one after the other: what all of them ask for is counted once.
// RUN: %{run} OFFLOOM_JIT_CACHE_DIR=%t/cache-of-devices %run_offload ./jit 1 12 3 4 2> devices > devices.out
// RUN: FileCheck --check-prefix=FIRST --implicit-check-not='changing lately' --input-file=devices %s

// One value in all launches, one that the cache has no variant for.
// RUN: %{run} %run_offload ./jit 9 1 2> constant > constant.out
// RUN: FileCheck --check-prefix=CONSTANT --implicit-check-not=chang --input-file=constant %s
// CONSTANT: compiled in {{.*}}=i32:0x9;{{.*}}=i32:0x7

// Another T, or nothing remembered, is another matter.
// RUN: env OFFLOOM_JIT_RETIRE=0 %{run} %run_offload ./jit 1 12 2> untimed | cmp - expected
// RUN: FileCheck --check-prefix=ANEW --implicit-check-not='changing lately' --input-file=untimed %s
// RUN: %{run} OFFLOOM_JIT_THRESHOLD=5 %run_offload ./jit 1 12 2> other | cmp - expected
// RUN: FileCheck --check-prefix=ANEW --implicit-check-not='changing lately' --input-file=other %s
// ANEW: =i32:0x5;{{.*}}=i32:0x7
// ANEW: keeps changing

// It is listed, checked and counted, and stays here when the images move.
// RUN: %{cache} list | FileCheck --check-prefix=LIST %s
// LIST-COUNT-2: sum{{.*}} (kept changing: value of argument [[#]])
// LIST-NOT: kept changing
// RUN: %{cache} verify | FileCheck --check-prefix=VERIFY %s
// VERIFY: 8 kernels, 0 failures, 0 damaged files
// VERIFY: what keeps changing is remembered of 2 kernels
// RUN: %{cache} pack pack | FileCheck --check-prefix=PACK %s
// PACK: packed 8 files

// A day later, and where what is remembered is cut short, its values are asked for anew.
// RUN: find cache/v2 -type f -exec touch -d '25 hours ago' {} +
// RUN: %{run} %run_offload ./jit 21 12 2> later > later.out
// RUN: FileCheck --check-prefix=LATER --implicit-check-not='changing lately' --input-file=later %s
// LATER-COUNT-5: compiled in {{.*}}=i32:0x{{1[5-9]}};{{.*}}=i32:0x7
// LATER: keeps changing
// LATER: found in the cache, for {{.*}}=any;{{.*}}=i32:0x7
// RUN: %{cache} --json list | python3 %S/Inputs/cut_megamorphic.py
// RUN: %{run} %run_offload ./jit 31 12 2> damaged > damaged.out
// RUN: FileCheck --check-prefix=DAMAGED --implicit-check-not='changing lately' --input-file=damaged %s
// DAMAGED-COUNT-4: compiled in
// DAMAGED: keeps changing

// Where each value comes often enough for its variant to be of use, the next run specialises to as many again.
// RUN: %{run} OFFLOOM_JIT_CACHE_DIR=%t/cache-of-phases %run_offload ./jit 1 12 0 20 2> phases > phases.out
// RUN: FileCheck --check-prefix=PHASES --input-file=phases %s
// PHASES-COUNT-2: a variant is kept
// PHASES: keeps changing: it is no longer specialised
// RUN: %{run} OFFLOOM_JIT_CACHE_DIR=%t/cache-of-phases %run_offload ./jit 1 12 0 20 2> phases-again | cmp - phases.out
// RUN: FileCheck --check-prefix=AGAIN --implicit-check-not='changing lately' --input-file=phases-again %s
// AGAIN-COUNT-5: found in the cache, for {{.*}}=i32:0x{{[1-5]}};{{.*}}=i32:0x7
// AGAIN: keeps changing: it is no longer specialised
#include <cstdio>
#include <cstdlib>

static unsigned sum(unsigned count, unsigned divisor, int device) {
  unsigned result = 0;
#pragma omp target map(tofrom : result) device(device)
  for (unsigned i = 0; i < count * 10000; ++i)
    result += i * i / divisor + (divisor > 5 ? i : -i);
  return result;
}

// The first value, how many, the last device, and how many launches with a value follow one another.
int main(int argc, char **argv) {
  const int first = std::atoi(argv[1]), values = std::atoi(argv[2]);
  const int last_device = argc > 3 ? std::atoi(argv[3]) : 0, launches = argc > 4 ? std::atoi(argv[4]) : 1;
  unsigned total = 0;
  for (int launch = 0; launch < 12 * launches; ++launch)
    total = total * 3 + sum(first + launch / launches % values, 7, launch % (last_device + 1));
  std::printf("%u\n", total);
}
