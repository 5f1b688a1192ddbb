// A program that ends with its last thread, and is specialised by an exit handler on a thread: exit handlers run on one thread all the same.
// Many variants, each by a thread that is the last of the process when it ends: each of them would otherwise go through the list of handlers.
// REQUIRES: x86_64-device
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o %t %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_WORKER=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload %t 2> %t.log | FileCheck %s
// RUN: grep -c ': compiled in' %t.log | FileCheck --check-prefix=COMPILED %s
// COMPILED: {{^13$}}
// The same where the last thread is one of the JIT's, which idles for a second after its work: what its handlers start outlives it.
// RUN: env OFFLOOM_JIT=async OFFLOOM_JIT_CACHE_MODE=off %run_offload %t beside-jit > %t.beside 2>&1
// RUN: FileCheck --check-prefix=BESIDE --implicit-check-not='another thread' --input-file=%t.beside %s
// BESIDE: step 7 sum 42
// BESIDE-NEXT: step 8 sum 48
// BESIDE-NEXT: on one thread
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <pthread.h>
#include <unistd.h>

static void launch(int step) {
  int sum = 0;
// A thread that ended has no default device.
#pragma omp target map(tofrom : sum) device(0)
  for (int i = 0; i < 42; i += step)
    sum += step;
  std::printf("step %d sum %d\n", step, sum);
}

// CHECK: step 7 sum 42
// CHECK-NEXT: step 8 sum 48
// CHECK: step 19 sum 57
// CHECK-NEXT: on one thread
static pid_t first;

static void launch_at_exit() {
  first = gettid();
  for (int step = 8; step < 20; ++step)
    launch(step);
  // Long enough for another thread to end meanwhile.
  usleep(200'000);
}

static void launch_once_at_exit() {
  first = gettid();
  launch(8);
  // Until the thread that this has started has ended.
  usleep(3'000'000);
}

static void say_which_thread() { std::puts(gettid() == first ? "on one thread" : "on another thread"); }

static bool has_other_threads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads)) > 1;
}

int main(int argc, char **) {
  launch(7);
  if (argc > 1) {
    std::atexit(say_which_thread);
    std::atexit(launch_once_at_exit);
    pthread_exit(nullptr);
  }
  while (has_other_threads())
    usleep(1000);
  std::atexit(say_which_thread);
  std::atexit(launch_at_exit);
  pthread_exit(nullptr);
}
