// What a kernel leaves behind to be called later: tasks for its caller's `taskwait`, and a handler. The kernel runs on the host's thread, in whose
// team libomp queues the tasks, and the variant that made them is retired, and its code freed, before they run.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: env OMP_NUM_THREADS=2 %run_offload ./stock > stock.out
// RUN: FileCheck %s --input-file=stock.out
// CHECK: handled
// CHECK-NEXT: 2 threads, 0 tasks done before the wait, 96 after
// CHECK-NEXT: sums 96 144 192 240, {{[1-9][0-9]+}} objects destroyed
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OMP_NUM_THREADS=2 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit > jit.out 2> log
// RUN: cmp stock.out jit.out
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// LOG: memory of a retired variant: free for others

// Compiled in the program.
// RUN: mkdir lib && cp %dist/lib/liboffloom_jit.so lib
// RUN: env OMP_NUM_THREADS=2 OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache-here %run_offload ./jit > jit.out 2> log
// RUN: cmp stock.out jit.out
// RUN: FileCheck --check-prefix=HERE --input-file=log %s
// HERE: compiling in the program
// HERE: memory of a retired variant: free for others

// Kept variants, in unoptimised code.
// RUN: %clangxx -O0 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit0 %omp_link
// RUN: env OMP_NUM_THREADS=2 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit0 > jit0.out
// RUN: cmp stock.out jit0.out
#include <atomic>
#include <csignal>
#include <cstdio>
#include <omp.h>
#include <unistd.h>

#pragma omp declare target
struct Weight {
  long value;
  int *destroyed;
  Weight(long value, int *destroyed) : value(value), destroyed(destroyed) {}
  Weight(const Weight &other) : value(other.value), destroyed(other.destroyed) {}
  ~Weight() {
#pragma omp atomic
    ++*destroyed;
  }
};
extern "C" void handler(int) { write(1, "handled\n", 8); }
__attribute__((noinline)) void install(void (*handler)(int)) { signal(SIGUSR1, handler); }
#pragma omp end declare target

int main() {
  // Mapped before: what the kernels do with them is seen by the tasks, and the other way round.
  long sums[4] = {};
  int launches[1] = {}, finished[1] = {}, destroyed[1] = {};
  int threads = 0, early = 0;
  std::atomic<bool> waited{false};
#pragma omp target enter data map(to : sums, launches, finished, destroyed)
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    threads = omp_get_num_threads();
    long factor = 3;
    for (int launch = 0; launch < 12; ++launch) {
#pragma omp target firstprivate(factor)
      {
        // A variant that is slow where its turn is, and so retired.
        const int turn = launches[0]++;
        if (turn % 4 == 0 || turn % 4 == 3) {
          usleep(20000);
          install(handler);
        }
        Weight weight(factor + turn, destroyed);
        for (int i = 0; i < 4; ++i)
#pragma omp task firstprivate(i, weight) shared(sums, finished)
        {
#pragma omp atomic
          sums[i] += weight.value + i * 2;
#pragma omp atomic
          ++finished[0];
        }
#pragma omp taskloop nogroup num_tasks(4) firstprivate(weight) shared(sums, finished)
        for (int i = 0; i < 4; ++i) {
#pragma omp atomic
          sums[i] += weight.value - 3 * factor + i * 2;
#pragma omp atomic
          ++finished[0];
        }
      }
    }
#pragma omp target update from(finished)
    early = finished[0];
#pragma omp taskwait
    waited = true;
    raise(SIGUSR1);
  } else {
    // No thread runs tasks but the one that waits for them.
    while (!waited)
      usleep(1000);
  }
#pragma omp target exit data map(from : sums, finished, destroyed) map(release : launches)
  std::printf("%d threads, %d tasks done before the wait, %d after\n", threads, early, finished[0]);
  std::printf("sums %ld %ld %ld %ld, %d objects destroyed\n", sums[0], sums[1], sums[2], sums[3], destroyed[0]);
}
