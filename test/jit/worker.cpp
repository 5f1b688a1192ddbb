// Whatever happens to the process that compiles, the program prints what the stock program prints and says once what happened:
// it runs out of memory, crashes, hangs, is no program of ours, is not there.
// REQUIRES: x86_64-device
// DEFINE: %{jit} = env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_LOG=1 %run_offload ./jit
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=COMPILED --implicit-check-not='stays ahead of time' --input-file=log %s
// COMPILED-COUNT-5: compiled in

// THREAD-COUNT-5: stays ahead of time for {{.*}}: cannot start a thread, for want of memory
// LOST-COUNT-3: stays ahead of time for {{.*}}: the compile worker ended without an answer
// LOST-COUNT-2: stays ahead of time for {{.*}}: too many compile workers were lost

// That there is no memory for a thread to compile on says nothing of a kernel: it is tried again at the next start. What there was no time
// for is not, unless there is more.
// DEFINE: %{cache} = env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache
// RUN: %{cache} OFFLOOM_JIT_MEMORY_LIMIT=16M %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=THREAD --implicit-check-not='compiled in' --input-file=log %s
// RUN: %{cache} OFFLOOM_JIT_MEMORY_LIMIT=16M %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=THREAD --implicit-check-not='compiled in' --implicit-check-not=remembered --input-file=log %s
// RUN: %{cache} OFFLOOM_JIT_TIME_LIMIT=0 %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=LATE --implicit-check-not='compiled in' --implicit-check-not=remembered --input-file=log %s
// RUN: %{cache} OFFLOOM_JIT_TIME_LIMIT=0 %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=REMEMBERED --implicit-check-not='compiled in' --input-file=log %s
// REMEMBERED-COUNT-5: stays ahead of time for {{.*}}: it took longer than 0 ms, as OFFLOOM_JIT_TIME_LIMIT allows (remembered by the cache)
// RUN: %{cache} %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=COMPILED --implicit-check-not='stays ahead of time' --input-file=log %s

// An installation whose worker is something else.
// RUN: mkdir -p lib libexec/offloom && cp %dist/lib/liboffloom_jit.so lib
// RUN: printf '#!/bin/sh\nkill -SEGV $$\n' > libexec/offloom/offloom-jit-worker && chmod +x libexec/offloom/offloom-jit-worker
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/lost OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=LOST --implicit-check-not='compiled in' --input-file=log %s
// Ended from outside, as where the machine's memory runs out, and no kernel's fault: another worker is asked, and in later runs too.
// RUN: printf '#!/bin/sh\ntest -e %t/ended || { : > %t/ended; kill -KILL $$; }\nexec %dist/libexec/offloom/offloom-jit-worker "$@"\n' > libexec/offloom/offloom-jit-worker
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/lost OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so %{jit} 2> log | cmp - stock.out
// RUN: test -e ended && FileCheck --check-prefix=COMPILED --implicit-check-not='stays ahead of time' --input-file=log %s
// RUN: printf '#!/bin/sh\nexec sleep 9\n' > libexec/offloom/offloom-jit-worker
// RUN: env OFFLOOM_JIT_TIME_LIMIT=1 OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=HANGS --implicit-check-not='compiled in' --input-file=log %s
// An interval timer, as profilers have one, does not make it wait longer: the worker would end by itself.
// RUN: env TEST_TIMER=1 OFFLOOM_JIT_TIME_LIMIT=1 OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=HANGS --implicit-check-not='compiled in' --implicit-check-not='without an answer' --input-file=log %s
// HANGS: the compile worker did not answer in time
// RUN: printf '#!/bin/sh\nexec cat <&0 >&0\n' > libexec/offloom/offloom-jit-worker
// RUN: env OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so %{jit} 2> log | cmp - stock.out
// RUN: not grep 'compiled in' log
// One that was built of other sources, where a package is replaced under a running program: the cache would keep what it makes as this library's.
// RUN: sh -c 'sources=$(grep -aoE "[+][0-9a-f]{16}" lib/liboffloom_jit.so | head -n 1 | tr -d +); sed "s/$sources/0123456789abcdef/g" %dist/libexec/offloom/offloom-jit-worker > libexec/offloom/offloom-jit-worker'
// RUN: not cmp -s %dist/libexec/offloom/offloom-jit-worker libexec/offloom/offloom-jit-worker
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/other OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=OTHER --implicit-check-not='compiled in' --input-file=log %s
// OTHER-COUNT-3: stays ahead of time for {{.*}}: the compile worker is of another version of Offloom
// OTHER-COUNT-2: stays ahead of time for {{.*}}: too many compile workers were lost
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/other %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=COMPILED --implicit-check-not='stays ahead of time' --input-file=log %s
// RUN: rm libexec/offloom/offloom-jit-worker
// RUN: env OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=ABSENT --input-file=log %s
// ABSENT: offloom-jit-worker is not installed; compiling in the program
// ABSENT: compiled in

// A compile that takes too long in the worker is given up there, and the program goes on at once.
// RUN: env OFFLOOM_JIT_TIME_LIMIT=0 %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=LATE --implicit-check-not='compiled in' --input-file=log %s
// LATE-COUNT-5: stays ahead of time for {{.*}}: it took longer than 0 ms

// The program's own children and signals are its own: it waits for all children and finds none of ours, and descriptors it
// closes without knowing them do no harm.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void start_timer() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often = {{0, 100000}, {0, 100000}};
  setitimer(ITIMER_REAL, &often, nullptr);
}

int main() {
  if (std::getenv("TEST_TIMER"))
    start_timer();
  int values[16];
  for (int i = 0; i < 16; ++i)
    values[i] = i * i - 5;
  for (int n = 3; n < 8; ++n) {
    long sum = 0;
#pragma omp target map(tofrom : sum) map(to : values)
    for (int i = 0; i < n; ++i)
      sum += values[i] % n;
    std::printf("%d %ld\n", n, sum);
    if (n == 5)
      for (int descriptor = 3; descriptor < 64; ++descriptor)
        close(descriptor);
  }
  const bool none = wait(nullptr) == -1 && errno == ECHILD;
  std::printf("children: %s\n", none ? "none" : "some");
  return none ? 0 : 1;
}
