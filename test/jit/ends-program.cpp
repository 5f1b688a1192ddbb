// Functions that do not return, and use what a kernel does until they end the program: an object that they change first, the level of a region.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// DEFINE: %{sync} = env OMP_NUM_THREADS=1 OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off
// RUN: not %{sync} %run_offload ./jit changed | FileCheck --check-prefix=CHANGED %s
// RUN: not %{sync} %run_offload ./jit level | FileCheck --check-prefix=LEVEL %s
// CHANGED: 7 modulo 4 is 3
// CHANGED: found 79
// LEVEL: 7 modulo 2 is 1
// LEVEL: level 1
#include <cstdio>
#include <cstring>
#include <omp.h>
#include <unistd.h>

struct Numbers {
  int first, second;
};

#pragma omp begin declare target
static void say(const char *what, int number) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "%s %d\n", what, number);
  if (write(1, text, length) != length)
    _exit(2);
}

[[noreturn]] __attribute__((noinline)) static void end_changed(const Numbers &numbers, int *first) noexcept {
  *first = 77;
  *first += numbers.second;
  say("found", numbers.first);
  _exit(3);
}

[[noreturn]] __attribute__((noinline)) static void end_in_region() noexcept {
  say("level", omp_get_level());
  _exit(3);
}
#pragma omp end declare target

static void changed(bool ends) {
  Numbers numbers{4, 2};
  double remainders[100];
#pragma omp target map(to : numbers) map(from : remainders) firstprivate(ends)
  {
    for (int i = 0; i < 100; ++i)
      remainders[i] = i % numbers.first;
    if (ends)
      end_changed(numbers, const_cast<int *>(&numbers.first));
  }
  std::printf("7 modulo 4 is %g\n", remainders[7]);
  std::fflush(stdout);
}

static void level(int divisor) {
  int remainders[100];
#pragma omp target parallel for map(from : remainders)
  for (int i = 0; i < 100; ++i) {
    remainders[i] = i % divisor;
    if (divisor == 3 && i == 50)
      end_in_region();
  }
  std::printf("7 modulo %d is %d\n", divisor, remainders[7]);
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  for (int launch = 0; launch < 3; ++launch)
    if (argc > 1 && std::strcmp(argv[1], "changed") == 0)
      changed(launch == 2);
    else
      level(launch + 1);
}
