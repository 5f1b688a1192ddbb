// What a thread of the program finds after a launch is what it finds after one without the JIT, also where the launch compiles, links, times
// or says something: it is cancelled where it says so, `errno` and what happened in floating point are its own, and a pipe that nobody reads
// ends nothing.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -pthread -rdynamic %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: FileCheck --input-file=stock.out %s
// CHECK: cancelled where it says so
// CHECK-NEXT: errno 77, nothing happened: 80 launches
// CHECK-NEXT: a signal that waits: waits
// CHECK-NEXT: the end
// RUN: %clangxx -O2 -pthread -rdynamic -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// DEFINE: %{jit} = env OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_STATS=stats OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_CACHE_MODE=rw %run_offload ./jit
// RUN: env OFFLOOM_JIT=sync %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// RUN: env OFFLOOM_JIT=sync %{jit} 2> log | cmp - stock.out
// RUN: FileCheck --check-prefix=CACHE --input-file=log %s
// RUN: env OFFLOOM_JIT=async %{jit} 2> log | cmp - stock.out
// The program hides what the system told it when it was started; the settings hold all the same.
// LOG: attached
// LOG: a variant is {{kept|retired}}
// CACHE: found in the cache
#include <cerrno>
#include <cfenv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

extern "C" int open64(const char *path, int flags, ...) {
  using Open = int(const char *, int, unsigned);
  static Open *const next = (Open *)dlsym(RTLD_NEXT, "open64");
  if (std::strcmp(path, "/proc/self/auxv") == 0) {
    errno = EACCES;
    return -1;
  }
  __builtin_va_list rest;
  __builtin_va_start(rest, flags);
  const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? __builtin_va_arg(rest, unsigned) : 0;
  __builtin_va_end(rest);
  return next(path, flags, mode);
}

static int64_t launch(const int64_t *values, int64_t by) {
  int64_t sum = 0;
#pragma omp target map(tofrom : sum) map(to : values[0 : 4])
  for (int64_t i = 0; i < by; ++i)
    sum += values[i % 4] / by + (by > 250 ? i : -i);
  return sum;
}

static const int64_t values[4] = {12345, 777, 31337, 99};

static int64_t expected(int64_t by) {
  int64_t sum = 0;
  for (int64_t i = 0; i < by; ++i)
    sum += values[i % 4] / by + (by > 250 ? i : -i);
  return sum;
}

// Points at which the thread lets itself be cancelled: after its launches.
static void *launches_though_cancelled(void *wrong) {
  pthread_cancel(pthread_self());
  for (int64_t by = 100; by < 104; ++by)
    for (int round = 0; round < 20; ++round)
      *(int *)wrong += launch(values, by) != expected(by);
  pthread_testcancel();
  *(int *)wrong += 1000;
  return nullptr;
}

int main() {
  // Devices are prepared.
  if (launch(values, 7) != expected(7))
    return 1;

  pthread_t thread;
  int wrong = 0;
  void *result = nullptr;
  pthread_create(&thread, nullptr, launches_though_cancelled, &wrong);
  pthread_join(thread, &result);
  if (result == PTHREAD_CANCELED && wrong == 0)
    std::puts("cancelled where it says so");

  int same = 0;
  for (int64_t by = 200; by < 204; ++by)
    for (int round = 0; round < 20; ++round) {
      std::feclearexcept(FE_ALL_EXCEPT);
      errno = 77;
      const int64_t sum = launch(values, by);
      same += errno == 77 && !std::fetestexcept(FE_ALL_EXCEPT) && sum == expected(by);
    }
  std::printf("errno 77, nothing happened: %d launches\n", same);

  int pipe_ends[2];
  const int error_stream = dup(2);
  if (pipe(pipe_ends) != 0)
    return 1;
  dup2(pipe_ends[1], 2);
  close(pipe_ends[0]);
  signal(SIGPIPE, SIG_DFL);
  for (int round = 0; round < 20; ++round)
    wrong += launch(values, 300) != expected(300);
  // One that the program has waiting stays.
  sigset_t set, pending;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  pthread_kill(pthread_self(), SIGPIPE);
  for (int round = 0; round < 20; ++round)
    wrong += launch(values, 301) != expected(301);
  sigpending(&pending);
  std::printf("a signal that waits: %s\n", sigismember(&pending, SIGPIPE) ? "waits" : "is gone");
  dup2(error_stream, 2);
  if (wrong == 0)
    std::puts("the end");
}
