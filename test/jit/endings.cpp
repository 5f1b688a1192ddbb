// However and whenever a program ends, closes a library or forks while variants are made beside it, it ends as it would without the
// JIT: with a compile process and without one, whether variants are in the cache or not.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o program %omp_link
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -DLIBRARY -fPIC -shared %s -o one.so %omp_link
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -DLIBRARY=1 -fPIC -shared %s -o two.so %omp_link
// RUN: python3 %S/Inputs/end_at_random.py %run_offload ./program ./one.so ./two.so
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

// Launches with numbers that differ each time, on two devices in turns; whether the results are right.
extern "C" bool launch(unsigned round) {
  const int64_t divisor = 3 + round % 97, factor = round;
  int64_t values[32], sum = 0, expected = 0;
  for (int i = 0; i < 32; ++i) {
    values[i] = i * i - 5;
    expected += values[i] % divisor * factor;
  }
#ifdef LIBRARY
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : values) device(round & 1) num_teams(1) thread_limit(1)
#else
#pragma omp target map(tofrom : sum) map(to : values) device(round & 1)
#endif
  for (int i = 0; i < 32; ++i)
    sum += values[i] % divisor * factor;
  return sum == expected;
}

#ifndef LIBRARY
static const auto start = std::chrono::steady_clock::now();
static long patience;
static unsigned round_number;

static bool time_is_up() { return std::chrono::steady_clock::now() - start > std::chrono::microseconds(patience); }

static void launch_until_time_is_up() {
  while (!time_is_up()) {
    if (!launch(round_number++)) {
      std::fputs("wrong result\n", stderr);
      _exit(99);
    }
    if (round_number % 8 == 0)
      usleep(500);
  }
}

static void open_and_close(char **libraries) {
  while (!time_is_up())
    for (char **library = libraries; *library; ++library) {
      void *opened = dlopen(*library, RTLD_NOW | RTLD_LOCAL);
      auto launch_there = opened ? (bool (*)(unsigned))dlsym(opened, "launch") : nullptr;
      for (int i = 0; i < 3; ++i)
        if (!launch_there || !launch_there(round_number++))
          _exit(99);
      dlclose(opened);
    }
}

static int fork_and_wait() {
  const pid_t child = fork();
  if (child == 0) {
    patience *= 2;
    launch_until_time_is_up();
    std::exit(7);
  }
  launch_until_time_is_up();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

struct Last {
  ~Last() { launch(round_number); }
};
static thread_local Last last_of_thread;

int main(int, char **arguments) {
  const char *way = arguments[1];
  patience = std::atol(arguments[2]);
  const auto is = [way](const char *name) { return std::strcmp(way, name) == 0; };
  static Last last;
  (void)&last_of_thread;
  if (is("close"))
    open_and_close(arguments + 3);
  else if (is("fork"))
    return fork_and_wait();
  else if (is("catch"))
    try {
      launch_until_time_is_up();
      throw std::runtime_error("caught");
    } catch (const std::runtime_error &) {
      launch(round_number);
    }
  else
    launch_until_time_is_up();
  if (is("exit"))
    std::exit(7);
  if (is("exit-elsewhere"))
    std::thread([] { std::exit(7); }).join();
  if (is("_exit"))
    _exit(7);
  if (is("quick_exit"))
    std::quick_exit(7);
  if (is("abort"))
    std::abort();
  if (is("throw"))
    throw std::runtime_error("uncaught");
  if (is("kill"))
    kill(getpid(), SIGKILL);
  if (is("terminate"))
    kill(getpid(), SIGTERM);
  if (is("execute"))
    execl("/bin/sh", "sh", "-c", "exit 7", (char *)nullptr);
  if (is("last-thread"))
    pthread_exit(nullptr);
  return 7;
}
#endif
