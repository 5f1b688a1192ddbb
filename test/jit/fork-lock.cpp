// A program has a handler of its own for forks, which takes a lock; a thread that holds the lock launches while another one is about to fork. Neither
// waits for the other for ever.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -DLIBRARY -fPIC -shared %s -o libhandlers.so
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link ./libhandlers.so
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off %run_offload timeout 60 ./jit | FileCheck %s
// CHECK: launched 16
// CHECK: forked
#include <atomic>
#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern std::mutex lock;
extern std::atomic<bool> is_forking;

#ifdef LIBRARY
std::mutex lock;
std::atomic<bool> is_forking{false};

// Libraries begin before the program, so these are registered before the JIT's own, and called behind them before a fork.
[[gnu::constructor]] static void watch_forks() {
  pthread_atfork(
      [] {
        is_forking = true;
        lock.lock();
      },
      [] { lock.unlock(); }, [] { lock.unlock(); });
}
#else
static std::atomic<bool> is_held{false};

static int launch(int n) {
  int sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(n)
  for (int i = 0; i < n; i++)
    sum += i * i % n;
  return sum;
}

static void launch_with_lock() {
  // libomp knows the thread from here on. Before that, it would itself wait for the fork.
  int sum = launch(4);
  lock.lock();
  is_held = true;
  while (!is_forking)
    std::this_thread::yield();
  sum += launch(7);
  std::printf("launched %d\n", sum);
  std::fflush(stdout);
  lock.unlock();
}

int main() {
  std::thread other(launch_with_lock);
  while (!is_held)
    std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0)
    _exit(0);
  waitpid(child, nullptr, 0);
  other.join();
  std::printf("forked\n");
}
#endif
