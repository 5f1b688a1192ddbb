// A library whose constructor launches a kernel, or has an image made of bitcode, is opened while another thread makes the first variant. The
// constructor runs with the loader's lock held: nothing that it may wait for waits for the loader. Each function by which the loader is asked
// stops, on other threads than the first, until the constructor runs.
// REQUIRES: x86_64-device
// DEFINE: %{jit} = env OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off %run_offload ./jit
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit -DLIBRARY -fPIC -shared %s -o launches.so %omp_link
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only -DLIBRARY -fPIC -shared %s -o only.so %omp_link
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit -rdynamic %omp_link
// RUN: env OFFLOOM_JIT=sync %{jit} dladdr ./launches.so | FileCheck %s
// RUN: env OFFLOOM_JIT=sync %{jit} dladdr ./only.so | FileCheck %s
// RUN: env OFFLOOM_JIT=async %{jit} dladdr ./only.so | FileCheck %s
// RUN: env OFFLOOM_JIT=sync %{jit} dlopen ./launches.so | FileCheck %s
// RUN: env OFFLOOM_JIT=async %{jit} dlsym ./launches.so | FileCheck %s
// CHECK: constructor 285
// CHECK-NEXT: thread 28
#include <atomic>
#include <cstdio>

extern "C" std::atomic<bool> constructor_runs;

#ifdef LIBRARY
// Before the library registers anything.
[[gnu::constructor(101)]] static void begin() { constructor_runs = true; }

[[gnu::constructor]] static void launch() {
  int sum = 0;
#pragma omp target map(tofrom : sum) device(0)
  for (int i = 0; i < 10; ++i)
    sum += i * i;
  std::printf("constructor %d\n", sum);
}
#else
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <unistd.h>

extern "C" std::atomic<bool> constructor_runs{false};
static std::atomic<bool> stopped{false}, launched{false};
static std::thread::id first;
static const char *stopping = "";

static int sum_of_numbers(int count) {
  int sum = 0;
#pragma omp target map(tofrom : sum) device(0)
  for (int i = 0; i < count; ++i)
    sum += i;
  return sum;
}

static void stop(const char *function) {
  // Before main there is no other thread.
  if (std::strcmp(function, stopping) != 0 || std::this_thread::get_id() == first)
    return;
  stopped = true;
  while (!constructor_runs)
    usleep(1000);
}

template <typename Function> static Function *next(const char *name) { return (Function *)dlvsym(RTLD_NEXT, name, "GLIBC_2.34"); }

extern "C" int dladdr(const void *address, Dl_info *info) noexcept {
  static const auto own = next<decltype(dladdr)>("dladdr");
  stop("dladdr");
  return own(address, info);
}

extern "C" void *dlopen(const char *file, int flags) noexcept {
  static const auto own = next<decltype(dlopen)>("dlopen");
  if (!file)
    stop("dlopen");
  return own(file, flags);
}

extern "C" void *dlsym(void *handle, const char *name) noexcept {
  static const auto own = next<decltype(dlsym)>("dlsym");
  if (std::strcmp(name, "__pthread_get_minstack") == 0)
    stop("dlsym");
  return own(handle, name);
}

int main(int, char **arguments) {
  // A deadlock is for ever.
  alarm(120);
  first = std::this_thread::get_id();
  // Loads the image, which is no launch.
  int unused = 0;
#pragma omp target data map(to : unused) device(0)
  {}
  stopping = arguments[1];
  int sum = 0;
  std::thread other([&] {
    sum = sum_of_numbers(8);
    launched = true;
  });
  // In the background, the worker is started some time after the launch, if at all by a thread that stops.
  for (int tries = 0; !stopped && (!launched || (tries < 300 && std::getenv("OFFLOOM_JIT") == std::string("async"))); ++tries)
    usleep(1000);
  if (!dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL))
    std::puts(dlerror());
  other.join();
  std::printf("thread %d\n", sum);
}
#endif
