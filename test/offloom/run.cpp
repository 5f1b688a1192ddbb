// `offloom run` runs a program as it is, and explains on the error stream what became of its launches: streams, arguments, status and signals are
// the program's.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// DEFINE: %{offload} = env OMP_TARGET_OFFLOAD=mandatory OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0

// RUN: echo 4 | %{offload} not %offloom run ./jit --json --hex 2> said > printed
// RUN: FileCheck --check-prefix=PRINTED --implicit-check-not=Process --input-file=printed %s
// RUN: FileCheck --check-prefix=SAID --input-file=said %s
// PRINTED: --json --hex 6
// SAID: Process {{[0-9]+}}, Offloom
// SAID: main() run.cpp:[[#]]
// SAID: 1 launch: 0 ahead of time, 1 of variants; a variant was asked for once
// SAID: argument {{[0-9]}} = 4 (i32) compiler
// RUN: bash -c 'echo 4 | %{offload} %offloom run --hex ./jit 2> said; test $? = 7'
// RUN: FileCheck --check-prefix=HEX --input-file=said %s
// HEX: argument {{[0-9]}} = 0x00000004 (i32)

// Each process of it, kept.
// RUN: bash -c 'echo 4 | %{offload} %offloom run --keep kept sh -c "./jit one; echo 5 | ./jit two" 2> said; test $? = 7'
// RUN: FileCheck --check-prefix=SEVERAL --input-file=said %s
// RUN: ls kept | count 2
// SEVERAL: Launches and variants of 2 processes
// SEVERAL: Kernels, in all of these processes together
// SEVERAL: main() run.cpp:[[#]] 2 0 2 2 0 0

// A signal that is sent to it goes to the program, and the program's own comes back; nothing is left of the statistics.
// RUN: mkdir -p tmp
// RUN: bash -c 'TMPDIR=%t/tmp %offloom run sh -c "trap \"exit 9\" USR1; echo > ready; while :; do sleep 0.05; done" 2> said & while ! test -e ready; do sleep 0.05; done; kill -USR1 $!; wait $!; test $? = 9'
// RUN: FileCheck --check-prefix=NOTHING --input-file=said %s
// NOTHING: offloom: `sh` has written no statistics: nothing of it was linked with --jit
// RUN: bash -c '%offloom run sh -c "kill -TERM \$\$" 2> said; test $? = 143'
// RUN: FileCheck --check-prefix=ENDED --input-file=said %s
// ENDED: offloom: `sh` has written no statistics: signal 15 ended it before it could
// RUN: find tmp -mindepth 1 -not -name "tmpfile-*.tmp" | count 0
// RUN: bash -c '%offloom run ./absent 2> said; test $? = 127'
// RUN: FileCheck --check-prefix=ABSENT --input-file=said %s
// ABSENT: offloom: cannot run `./absent`: No such file
// RUN: bash -c '%offloom run /dev/null 2> said; test $? = 126'
#include <cstdio>

int main(int argc, char **argv) {
  int n = 0, sum = 0;
  if (std::scanf("%d", &n) != 1)
    return 1;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < n; ++i)
    sum += i * i % n + (i == 1);
  for (int i = 1; i < argc; ++i)
    std::printf("%s ", argv[i]);
  std::printf("%d\n", sum + 3);
  return 7;
}
