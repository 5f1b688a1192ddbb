// The file of OFFLOOM_JIT_STATS: complete at exit, launches from exit handlers included; one for each forked process; nothing left
// beside it; and a file that cannot be written is one line.
// REQUIRES: x86_64-device
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1
// RUN: rm -rf %t && mkdir -p %t/out && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link

// RUN: %{run} OFFLOOM_JIT_STATS=out/stats %run_offload ./jit | FileCheck --check-prefix=OUTPUT %s
// RUN: python3 %S/Inputs/stats.py out/stats | FileCheck %s
// RUN: ls -A out | FileCheck --check-prefix=ONE %s
// OUTPUT: 2
// OUTPUT: handler 2
// Once handlers of LLVM have run, nothing is made any more; whether that is before the program's own handler is LLVM's affair.
// CHECK: : {{1 ahead of time, 3 of variants, 4 specializations, 3 made|0 ahead of time, 4 of variants, 4 specializations, 4 made}}
// ONE: {{^stats$}}
// ONE-NOT: {{.}}

// A forked child launches nothing itself, and what it counts is what its parent had done before.
// RUN: %{run} OFFLOOM_JIT_STATS=out/stats %run_offload ./jit fork | FileCheck --check-prefix=OUTPUT %s
// RUN: python3 %S/Inputs/stats.py out/stats | FileCheck %s
// RUN: rm out/stats && python3 %S/Inputs/stats.py out/stats.* | FileCheck --check-prefix=CHILD %s
// CHILD: : 0 ahead of time, 3 of variants, 3 specializations, 3 made
// RUN: rm out/stats.*
// RUN: %{run} OFFLOOM_JIT_STATS=out/%%p.json %run_offload ./jit fork | FileCheck --check-prefix=OUTPUT %s
// RUN: ls -A out | FileCheck --check-prefix=TWO %s
// TWO-COUNT-2: {{^[0-9]+.json$}}
// TWO-NOT: {{.}}

// Retired or kept: each launch is counted once, by what it ran, and whoever is judged was timed.
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_STATS=out/stats %run_offload ./jit many | FileCheck --check-prefix=OUTPUT %s
// RUN: python3 %S/Inputs/stats.py out/stats | FileCheck --check-prefix=JUDGED %s
// JUDGED: made {{.*}}: compiled; copy 0: {{kept|retired}}, {{[0-9]+}} launches

// A link stays, and the file that it leads to is written. What the program prints is kept where the statistics are written to its output.
// RUN: touch real && ln -s real link && %{run} OFFLOOM_JIT_STATS=link %run_offload ./jit | FileCheck --check-prefix=OUTPUT %s
// RUN: test -L link && python3 %S/Inputs/stats.py real | FileCheck %s
// RUN: %{run} OFFLOOM_JIT_STATS=/dev/stdout %run_offload ./jit > log
// RUN: FileCheck --check-prefix=LOG %s --input-file=log
// LOG-DAG: {{^}}handler 2
// LOG-DAG: "version": 1

// A relative name is from where the program was started, wherever it goes.
// RUN: mkdir elsewhere && %{run} OFFLOOM_JIT_STATS=out/moved OFFLOOM_JIT_DUMP_DIR=dumps %run_offload ./jit elsewhere | FileCheck --check-prefix=OUTPUT %s
// RUN: python3 %S/Inputs/stats.py out/moved | FileCheck %s
// RUN: ls dumps && not ls elsewhere/*

// What is in that folder's name stands for itself.
// RUN: mkdir job%%p && cd job%%p && %{run} OFFLOOM_JIT_STATS=stats %run_offload ../jit | FileCheck --check-prefix=OUTPUT %s && cd ..
// RUN: python3 %S/Inputs/stats.py job%%p/stats | FileCheck %s

// RUN: %{run} OFFLOOM_JIT_STATS=absent/stats %run_offload ./jit 2>&1 | FileCheck --check-prefix=UNWRITABLE %s
// UNWRITABLE: offloom-jit: OFFLOOM_JIT_STATS: cannot write `{{/.*}}absent/stats`: No such file or directory
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

static int sum(int n) {
  int result = 0;
#pragma omp target map(tofrom : result)
  for (int i = 0; i < n; ++i)
    result += i * i % n;
  return result;
}

static bool is_child = false;

static void handler() {
  if (!is_child)
    std::printf("handler %d\n", sum(4));
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  std::atexit(handler);
  if (std::strcmp(how, "elsewhere") == 0 && chdir("elsewhere") != 0)
    return 1;
  sum(1);
  sum(2);
  std::printf("%d\n", sum(3));
  std::fflush(stdout);
  for (int i = 0; std::strcmp(how, "many") == 0 && i < 100; ++i)
    sum(3);
  if (std::strcmp(how, "fork") == 0) {
    pid_t child = fork();
    if (child == 0) {
      is_child = true;
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
  }
}
