// Children that are forked while a variant waits to be made make it themselves. A child that is forked while it is being made has to do without, so
// several are tried. Their files of statistics name the process that each was forked from.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> log | FileCheck %s
// CHECK: a child has a variant
// RUN: env OFFLOOM_JIT_STATS=stats OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 %run_offload ./jit chain > chain
// RUN: python3 %S/Inputs/forked_from.py stats chain
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

static long launch(long count) {
  long sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(count)
  for (long i = 0; i < count; ++i)
    sum += i % count * i;
  return sum;
}

// In a child: whether it comes to link a variant of its own in a while.
static bool gets_variant(long count) {
  if (!std::freopen("child.log", "w", stderr))
    return false;
  for (int i = 0; i < 200; ++i) {
    launch(count);
    std::ifstream file("child.log");
    const std::string log(std::istreambuf_iterator<char>(file), {});
    if (log.find("linked into image copy") != std::string::npos)
      return true;
    usleep(10000);
  }
  return false;
}

static bool is_one_with_variant(long count) {
  launch(count);
  const pid_t child = fork();
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
  // The thread that makes variants is on the same processor, and has not begun by the time of the fork.
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  bool found = false;
  for (long count = 5; count < 13 && !found; ++count)
    found = is_one_with_variant(count);
  std::puts(found ? "a child has a variant" : "no child has a variant");
}
