// A child that is forked while a variant waits to be made makes it itself. Files of statistics name the process that each was forked from.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit -rdynamic %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> log | FileCheck %s
// CHECK: the child has a variant
// RUN: env OFFLOOM_JIT_STATS=stats OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 %run_offload ./jit chain > chain
// RUN: python3 %S/Inputs/forked_from.py stats chain
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <pthread.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

// Threads that the library starts wait while this is true, so what they are started for waits too.
static std::atomic<bool> is_held{false};

struct Start {
  void *(*routine)(void *);
  void *argument;
};

static void *begin(void *held) {
  const Start start = *static_cast<Start *>(held);
  delete static_cast<Start *>(held);
  while (is_held)
    usleep(1000);
  return start.routine(start.argument);
}

// In the place of the C library's, for all that is loaded.
extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                              void *argument) {
  using Create = decltype(&pthread_create);
  static const Create create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  Dl_info from;
  if (dladdr(reinterpret_cast<void *>(routine), &from) &&
      std::string(from.dli_fname).find("liboffloom_jit") != std::string::npos) {
    argument = new Start{routine, argument};
    routine = begin;
  }
  return create(thread, attributes, routine, argument);
}

static long launch(long count) {
  long sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(count)
  for (long i = 0; i < count; ++i)
    sum += i % count * i;
  return sum;
}

// In a child: whether it comes to link a variant of its own.
static bool gets_variant(long count) {
  if (!std::freopen("child.log", "w", stderr))
    return false;
  for (int i = 0; i < 6000; ++i) {
    launch(count);
    std::ifstream file("child.log");
    const std::string log(std::istreambuf_iterator<char>(file), {});
    if (log.find("linked into image copy") != std::string::npos)
      return true;
    usleep(10000);
  }
  return false;
}

static bool child_gets_variant(long count) {
  is_held = true;
  launch(count);
  const pid_t child = fork();
  is_held = false;
  if (child == 0)
    _exit(gets_variant(count) ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

// A child, and a child of that.
static void chain() {
  launch(5);
  std::printf("%d\n", int(getpid()));
  std::fflush(stdout);
  for (int generation = 0; generation < 2; ++generation) {
    const pid_t child = fork();
    if (child != 0) {
      waitpid(child, nullptr, 0);
      std::exit(0);
    }
    std::printf("%d\n", int(getpid()));
    std::fflush(stdout);
    launch(5);
  }
}

int main(int argc, char **) {
  if (argc > 1) {
    chain();
    return 0;
  }
  std::puts(child_gets_variant(5) ? "the child has a variant" : "the child has no variant");
}
