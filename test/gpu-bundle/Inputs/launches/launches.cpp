// What a launch costs the thread that asks for it: a kernel that does next to nothing, from one thread and
// from eight, with one value of its argument and with a hundred, which are as many variants. And from one thread while another
// one's kernels are long: a driver loads nothing while a kernel runs, and no launch may wait for what is being loaded.
//
// For each case one line, in the form of the workloads' (test/workloads/common/workload.h), with the 99.9th percentile:
//   time CASE launches=N total_s=... first_s=... min_s=... median_s=... p999_s=...
// and one with the sum of what the kernels computed, which must not depend on how they were launched.
#include "workload.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

constexpr int MOST_THREADS = 8;

// omp_get_wtime() has microseconds.
static double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Prints what the launches took, and what they computed.
static void print(const char *name, std::vector<double> &times, long sum) {
  const double first = times[0];
  std::printf("checksum %s %ld\n", name, sum);
  double total = 0;
  for (double time : times)
    total += time;
  std::sort(times.begin(), times.end());
  std::printf("time %s launches=%zu total_s=%.9f first_s=%.9f min_s=%.9f median_s=%.9f p999_s=%.9f\n", name, times.size(), total,
              first, times.front(), times[times.size() / 2], times[times.size() - 1 - times.size() / 1000]);
}

static void measure(const char *name, int threads, int values, int launches) {
  std::vector<double> times(static_cast<size_t>(threads) * launches);
  std::vector<long> sums(threads);
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    long *sum = &sums[thread];
#pragma omp target enter data map(to : sum[0 : 1])
    for (int launch = 0; launch < launches; ++launch) {
      const int value = 1 + launch % values;
      const auto begin = std::chrono::steady_clock::now();
#pragma omp target map(sum[0 : 1]) firstprivate(value)
      sum[0] += value;
      times[static_cast<size_t>(thread) * launches + launch] = seconds_since(begin);
    }
#pragma omp target exit data map(from : sum[0 : 1])
  }
  long sum = 0;
  for (long of_thread : sums)
    sum += of_thread;
  print(name, times, sum);
}

// The launches of one thread, with a new value after each `block` of them, while kernels of another take this many steps, which
// wait for each other.
static void measure_beside(const char *name, int steps, int launches, int block) {
  std::vector<double> times(launches);
  long sum = 0;
  unsigned state = 1;
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    for (int kernel = 0; kernel < 4; ++kernel) {
#pragma omp target map(tofrom : state) firstprivate(steps)
      for (int step = 0; step < steps; ++step)
        state = state * 1664525U + 1013904223U;
    }
  } else {
#pragma omp target enter data map(to : sum)
    for (int launch = 0; launch < launches; ++launch) {
      const int value = 1 + launch / block;
      const auto begin = std::chrono::steady_clock::now();
#pragma omp target map(sum) firstprivate(value)
      sum -= value;
      times[launch] = seconds_since(begin);
    }
#pragma omp target exit data map(from : sum)
  }
  print(name, times, sum + state);
}

int main(int count, char **arguments) {
  workload w = workload_begin(count, arguments, "launches", 200, 20000);
  workload_settings_end(&w);
  const int launches = static_cast<int>(w.size);
  measure("1-thread-1-value", 1, 1, launches);
  measure("1-thread-100-values", 1, 100, launches);
  measure("8-threads-1-value", MOST_THREADS, 1, launches / 4);
  measure("8-threads-100-values", MOST_THREADS, 100, launches / 4);
  measure_beside("beside-long-kernels", 1000 * launches, launches / 4, 100);
  return workload_end(&w);
}
