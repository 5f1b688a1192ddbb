// A program forks while another thread, with the library's locks held, is inside it: the child ends all the same, whatever it would say or write
// at its end.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -DLIBRARY -fPIC -shared %s -o library.so %omp_link
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit -rdynamic %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 %run_offload ./jit | FileCheck %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_STATS=%t/stats %run_offload ./jit | FileCheck %s
// CHECK: child: ended

// Kernels that are the same would be one.
#ifdef LIBRARY
#define FACTOR 2
#else
#define FACTOR 1
#endif

extern "C" int launch(int count) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < count; ++i)
    sum += i * i * FACTOR;
  return sum;
}

#ifndef LIBRARY
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

static std::atomic<bool> forked{false}, inside{false};
static std::thread::id first;

// The thread that opens the library is stopped where it says that it takes the kernels of it.
extern "C" ssize_t write(int descriptor, const void *bytes, size_t size) {
  static const auto own = (decltype(write) *)dlvsym(RTLD_NEXT, "write", "GLIBC_2.2.5");
  const std::string_view text((const char *)bytes, size);
  if (descriptor == STDERR_FILENO && text.find("attached") != text.npos && first != std::thread::id() &&
      std::this_thread::get_id() != first) {
    inside = true;
    while (!forked)
      usleep(1000);
  }
  return own(descriptor, bytes, size);
}

int main() {
  // A deadlock is for ever, in the child too.
  alarm(120);
  first = std::this_thread::get_id();
  if (launch(10) != 285)
    return 1;
  std::thread other([] { dlopen("./library.so", RTLD_NOW | RTLD_LOCAL); });
  while (!inside)
    usleep(1000);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::exit(0);
  }
  forked = true;
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child: %s\n", WIFEXITED(status) ? "ended" : "hung");
  other.join();
}
#endif
