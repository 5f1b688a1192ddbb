// Threads that want all of the one processor leave hardly any of it to a compile at idle priority, and who has no special rights can make nothing
// more urgent again. The compile gets a small share then, and the variant comes.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload ./jit 2> log | FileCheck %s
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// CHECK: right
// LOG: no processor has time for the compile worker: it gets a small share
// LOG: compiled in
// LOG: linked into image copy
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <vector>

// Beside so many, a thirtieth of the processor is out of reach at idle priority, at whatever niceness all of this runs. Not at once: a process
// that has just begun to compute has its turn early. So the compile takes more than a turn or two.
static const int many = 12;
#define FOUR_TIMES(x) x x x x
#define STEP sum = (sum ^ (sum >> 7)) * (count + 3) + i % count;

static long launch(long count) {
  long sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(count)
  for (long i = 0; i < count; ++i) {
    FOUR_TIMES(FOUR_TIMES(FOUR_TIMES(STEP)))
  }
  return sum;
}

static bool is_linked() {
  std::ifstream file("log");
  const std::string log(std::istreambuf_iterator<char>(file), {});
  return log.find("linked into image copy") != std::string::npos;
}

int main(int argc, char **argv) {
  if (argc == 1) {
    // Of root's rights nothing is left after exec, and the library finds one processor when it is loaded.
    for (int capability = 0; prctl(PR_CAPBSET_DROP, capability) == 0; ++capability)
      ;
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int processor = 0; CPU_COUNT(&one) == 0; ++processor)
      if (CPU_ISSET(processor, &all))
        CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
    char again[] = "again";
    char *arguments[] = {argv[0], again, nullptr};
    execv("/proc/self/exe", arguments);
    return 1;
  }
  std::atomic<bool> is_over{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < many; ++i)
    busy.emplace_back([&] {
      while (!is_over)
        ;
    });
  const long expected = launch(7);
  for (int tries = 0; tries < 6000 && !is_linked(); ++tries)
    usleep(10000);
  std::puts(launch(7) == expected ? "right" : "wrong");
  is_over = true;
  for (std::thread &thread : busy)
    thread.join();
}
