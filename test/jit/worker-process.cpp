// What the process that compiles takes over from a program, and what not.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t/sync %t/async %t/started && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link

// A thread that is scheduled in real time launches: neither the process nor the thread in the background is. Without the right to be scheduled
// so, it is not, and nothing could be taken over.
// RUN: env LD_LIBRARY_PATH=%t/sync OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 %run_offload ./jit real-time | FileCheck --check-prefix=REAL-TIME %s
// RUN: env LD_LIBRARY_PATH=%t/async OFFLOOM_JIT=async OFFLOOM_JIT_STRICT=1 %run_offload ./jit real-time | FileCheck --check-prefix=REAL-TIME %s
// REAL-TIME: {{(launching|no) thread in real time, worker not in real time}}

// Where memory runs out it is ended before the program.
// RUN: env LD_LIBRARY_PATH=%t/sync OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 %run_offload ./jit memory | FileCheck --check-prefix=MEMORY %s
// MEMORY: ended first: yes

// A program that gives up rights, as those of its group, has no use any more for a process that has them. Without the right to change its group,
// it is the same.
// RUN: env LD_LIBRARY_PATH=%t/sync OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 %run_offload ./jit rights | FileCheck --check-prefix=RIGHTS %s
// RIGHTS: first worker with the program's group, second worker with the program's group

// It is started with a program whose launches will wait for it and find nothing in the cache, as far as can be told: nothing has started since
// something was compiled. Not where launches do not wait, nor for ever with a program that launches nothing.
// DEFINE: %{started} = env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_LOG=1 LD_LIBRARY_PATH=%t/started %run_offload ./jit started
// RUN: env OFFLOOM_JIT=async %{started} 2>&1 | FileCheck --check-prefix=NOT-STARTED --implicit-check-not='worker is started' %s
// RUN: env OFFLOOM_JIT=sync %{started} 2>&1 | FileCheck --check-prefix=STARTED %s
// RUN: env OFFLOOM_JIT=sync %{started} 2>&1 | FileCheck --check-prefix=NOT-STARTED --implicit-check-not='worker is started' %s
// RUN: env OFFLOOM_JIT=sync %{started} launch 2>&1 | FileCheck --check-prefixes=NOT-STARTED,COMPILED --implicit-check-not='worker is started' %s
// RUN: env OFFLOOM_JIT=sync %{started} launch 2>&1 | FileCheck --check-prefixes=STARTED,FOUND --implicit-check-not='compiled in' %s
// RUN: env OFFLOOM_JIT=sync %{started} launch 2>&1 | FileCheck --check-prefixes=NOT-STARTED,FOUND --implicit-check-not='worker is started' --implicit-check-not='compiled in' %s
// STARTED: the compile worker is started
// STARTED: before launches: a worker
// NOT-STARTED: before launches: no worker
// COMPILED: compiled in
// FOUND: found in the cache
// Where nothing is remembered, it is with every program; where nothing can be, with none.
// RUN: env OFFLOOM_JIT=sync %{started} | FileCheck --check-prefix=NOT-STARTED %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_CACHE_MODE=off LD_LIBRARY_PATH=%t/started %run_offload ./jit started | FileCheck --check-prefix=WITHOUT %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_CACHE_MODE=ro OFFLOOM_JIT_CACHE_DIR=%t/read LD_LIBRARY_PATH=%t/started %run_offload ./jit started | FileCheck --check-prefix=NOT-STARTED %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_WORKER=0 LD_LIBRARY_PATH=%t/started %run_offload ./jit started | FileCheck --check-prefix=NOT-STARTED %s
// WITHOUT: before launches: a worker
#include "Inputs/worker.h"
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <sched.h>
#include <string>
#include <unistd.h>

static int launch(int count) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < count; ++i)
    sum += i * i % count;
  return sum;
}

/// The worker once it is there: beside the program, it is started some time after the first launch.
static int worker_for_a_launch() {
  launch(10);
  int found = 0;
  for (int tries = 0; tries < 6000 && (found = worker()) == 0; ++tries)
    usleep(10000);
  return found;
}

static bool is_in_real_time(int thread) { return sched_getscheduler(thread) == SCHED_FIFO; }

static int in_real_time() {
  const sched_param lowest = {sched_get_priority_min(SCHED_FIFO)};
  // The image is loaded before.
  int unused = 0;
#pragma omp target data map(to : unused)
  {}
  sched_setscheduler(0, SCHED_FIFO, &lowest);
  const int process = worker_for_a_launch();
  int threads = 0;
  DIR *list = opendir("/proc/self/task");
  while (dirent *entry = readdir(list))
    threads += std::atoi(entry->d_name) > 0 && is_in_real_time(std::atoi(entry->d_name));
  closedir(list);
  const char *which = threads == 0 ? "no thread" : threads == 1 && is_in_real_time(0) ? "launching thread" : "other threads";
  std::printf("%s in real time, worker %sin real time\n", which, is_in_real_time(process) ? "" : "not ");
  return process == 0;
}

/// Whether some worker has the program's real and effective group. One that is given up ends a moment later.
static bool has_own_group() {
  const std::string groups = "\nGid:\t" + std::to_string(getgid()) + "\t" + std::to_string(getegid()) + "\t";
  for (int tries = 0; tries < 1000; ++tries) {
    if (contents("/proc/" + std::to_string(worker()) + "/status").find(groups) != std::string::npos)
      return true;
    usleep(10000);
  }
  return false;
}

static int without_rights() {
  worker_for_a_launch();
  std::printf("first worker with %s group, ", has_own_group() ? "the program's" : "another");
  const int other = 65534;
  // Without the right to, it stays.
  (void)!setresgid(other, other, other);
  const bool right = launch(20) == 130;
  std::printf("second worker with %s group\n", has_own_group() ? "the program's" : "another");
  return !right;
}

static int out_of_memory() {
  const int process = worker_for_a_launch();
  // It says so when it has begun; the launch has waited for what it does later.
  const std::string value = contents("/proc/" + std::to_string(process) + "/oom_score_adj");
  std::printf("ended first: %s\n", value == "1000\n" ? "yes" : value.c_str());
  return process == 0;
}

static int started(bool launches) {
  // What is printed to the one stream and what to the other keep their order.
  std::setbuf(stdout, nullptr);
  // Whoever starts a program goes on before that has its name.
  int found = 0;
  for (int tries = 0; tries < 20 && (found = worker()) == 0; ++tries)
    usleep(10000);
  std::printf("before launches: %s worker\n", found ? "a" : "no");
  return launches && launch(10) != 45;
}

int main(int count, char **arguments) {
  if (std::strcmp(arguments[1], "real-time") == 0)
    return in_real_time();
  if (std::strcmp(arguments[1], "rights") == 0)
    return without_rights();
  if (std::strcmp(arguments[1], "memory") == 0)
    return out_of_memory();
  if (std::strcmp(arguments[1], "started") == 0)
    return started(count > 2);
  return 2;
}
