// A program that forks: parent and child go on with the kernels they have, and the child makes variants of its own.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> log | cmp - stock.out
// RUN: FileCheck --input-file=log %s
// RUN: env OFFLOOM_JIT=async OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
// CHECK-COUNT-6: compiled in

// The parent's compile worker stays the parent's, also while it is started and asked: it would not end before the child does.
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit sockets | FileCheck --check-prefix=SOCKETS %s
// RUN: env OFFLOOM_JIT=async OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit sockets | FileCheck --check-prefix=SOCKETS %s
// SOCKETS: parent holds 1, 0 of its children
#include <cstdio>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

static long launch(int count, const int *values) {
  long sum = 0;
#pragma omp target map(tofrom : sum) map(to : values[0 : 16])
  for (int i = 0; i < count; ++i)
    sum += values[i] % count;
  return sum;
}

static int sockets() {
  int count = 0;
  for (const auto &open : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    count += std::filesystem::read_symlink(open, error).string().rfind("socket:", 0) == 0;
  }
  return count;
}

/// Those that the program was started with: its worker's, which may be there already, is none of them.
static int sockets_of_a_child() {
  const pid_t child = fork();
  if (child == 0)
    _exit(sockets());
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int main(int argc, char **) {
  int values[16];
  for (int i = 0; i < 16; ++i)
    values[i] = i * i - 5;
  const int before = sockets_of_a_child();
  std::printf("%ld %ld\n", launch(3, values), launch(5, values));
  if (argc > 1) {
    int holding = 0;
    for (int i = 0; i < 100 || (sockets() == before && i < 20000); ++i) {
      const pid_t child = fork();
      if (child == 0)
        _exit(sockets() != before);
      int status = 0;
      waitpid(child, &status, 0);
      holding += status != 0;
      usleep(200);
    }
    std::printf("parent holds %d, %d of its children\n", sockets() - before, holding);
  }
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::printf("child %ld %ld\n", launch(5, values), launch(7, values));
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("parent %d %ld %ld %ld\n", status, launch(7, values), launch(9, values), launch(11, values));
}
