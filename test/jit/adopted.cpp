// A process that becomes the parent of orphans, as the first of a container does, has none of the library's: its kernels are compiled in it, and
// who makes images of bitcode has ended before main.
// REQUIRES: x86_64-device
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_STRICT=1 %run_offload
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only %s -o only %omp_link
// RUN: %{run} ./jit 2> log | FileCheck %s
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// RUN: %{run} ./only 2> log | FileCheck %s
// RUN: FileCheck --check-prefixes=IMAGE,LOG --input-file=log %s
// CHECK: sum 285, children: none
// IMAGE: the image of this program was compiled in
// LOG: which is the first of its container or a subreaper; compiling in the program
// LOG: compiled in
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int, char **arguments) {
  // The image is made while the program starts.
  if (!std::getenv("SUBREAPER")) {
    setenv("SUBREAPER", "1", 1);
    return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 ? execv(arguments[0], arguments) : 1;
  }
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < 10; ++i)
    sum += i * i;
  // Does not wait.
  const bool none = waitpid(-1, nullptr, WNOHANG | __WALL) == -1 && errno == ECHILD;
  std::printf("sum %d, children: %s\n", sum, none ? "none" : "some");
}
