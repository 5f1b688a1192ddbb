// Threads that libomp has bound to processors start the process that compiles and the thread in the background. These may use all the
// processors that the program had at its start. Where a launch waits for a compile, that has the program's priority, else what is left of the
// processors.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t/sync %t/async && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env LD_LIBRARY_PATH=%t/sync OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off %run_offload ./jit | FileCheck --check-prefix=SYNC %s
// RUN: env LD_LIBRARY_PATH=%t/async OFFLOOM_JIT=async OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off %run_offload ./jit | FileCheck --check-prefix=ASYNC %s
// SYNC: bound to 1, worker to as many as the program had, scheduled as the program is
// ASYNC: bound to 1, worker to as many as the program had, scheduled as idle
// ASYNC: a thread of the program to as many as it had
#include "Inputs/worker.h"
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

static int processors(int process) {
  cpu_set_t set;
  return sched_getaffinity(process, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
}

/// Whether a thread of the program may use that many. The one in the background is there for a second after its last work.
static bool has_thread_on(int count) {
  bool found = false;
  DIR *threads = opendir("/proc/self/task");
  while (dirent *entry = readdir(threads))
    found |= std::atoi(entry->d_name) > 0 && processors(std::atoi(entry->d_name)) == count;
  closedir(threads);
  return found;
}

/// How the worker's thread that compiles is scheduled.
static std::string schedule_of_compiles(int process) {
  const std::string folder = "/proc/" + std::to_string(process) + "/task";
  std::string schedule = "a thread that is not there";
  DIR *threads = opendir(folder.c_str());
  while (dirent *entry = threads ? readdir(threads) : nullptr) {
    const int thread = std::atoi(entry->d_name);
    if (contents(folder + "/" + entry->d_name + "/comm") != "offloom-jit\n")
      continue;
    if (sched_getscheduler(thread) == SCHED_IDLE)
      schedule = "idle";
    else if (sched_getscheduler(thread) == sched_getscheduler(0) &&
             getpriority(PRIO_PROCESS, thread) == getpriority(PRIO_PROCESS, 0))
      schedule = "the program is";
    else
      schedule = "something else";
  }
  if (threads)
    closedir(threads);
  return schedule;
}

int main() {
  const int before = processors(0);
  // As libomp does.
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  for (int processor = 0; CPU_COUNT(&one) == 0; ++processor)
    if (CPU_ISSET(processor, &all))
      CPU_SET(processor, &one);
  sched_setaffinity(0, sizeof one, &one);

  double sum = 0;
  int process = 0;
  // The worker is there once something is compiled; beside the program, that begins some time after the first launch.
  for (int tries = 0; tries < 6000 && process == 0; ++tries) {
#pragma omp target map(tofrom : sum)
    for (int i = 0; i < before; ++i)
      sum += i;
    process = worker();
    if (process == 0)
      usleep(10000);
  }
  const bool is_one_on_all = has_thread_on(before);
  // The thread that compiles says how it is scheduled when it has begun.
  const bool is_idle = std::getenv("OFFLOOM_JIT") == std::string("async");
  std::string schedule;
  for (int tries = 0; tries < 6000 && schedule != (is_idle ? "idle" : "the program is"); ++tries) {
    schedule = schedule_of_compiles(process);
    usleep(10000);
  }
  const int now = processors(process);
  std::printf("bound to %d, worker to %s, scheduled as %s\n", processors(0),
              now == before ? "as many as the program had" : std::to_string(now).c_str(), schedule.c_str());
  if (is_one_on_all)
    std::puts("a thread of the program to as many as it had");
  return process == 0;
}
