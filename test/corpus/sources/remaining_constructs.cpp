// Exercises: constructs of OpenMP 5.2 that no other program uses: in regions masked with a filter, flush,
// taskgroup, taskyield, cancel, cancellation point and ordered with dependences. Left out: dispatch, which
// Clang does not compile, scope, which Clang 19 does not, and interop, at which the runtime of 19 crashes.
// FLAGS: -fopenmp-version=52
// TARGETS: x86_64 (the device runtime for GPUs has no cancellation and no ordered dependences)
#include <cstdio>
#include <omp.h>

int main() {
  int filtered = 0, flushed = 0, tasks = 0;
#pragma omp target parallel num_threads(2) map(tofrom : filtered, flushed, tasks)
  {
#pragma omp masked filter(0)
    {
      filtered += 7;
      flushed = 3;
#pragma omp flush(flushed)
    }
#pragma omp barrier
#pragma omp single
#pragma omp taskgroup
    {
      for (int i = 1; i <= 4; ++i) {
#pragma omp task firstprivate(i) shared(tasks)
        {
#pragma omp taskyield
#pragma omp atomic
          tasks += i;
        }
      }
    }
  }

  // Without OMP_CANCELLATION the loop runs to its end.
  int cancelled = 0;
#pragma omp target map(tofrom : cancelled)
#pragma omp parallel num_threads(2)
#pragma omp for
  for (int i = 0; i < 10; ++i) {
#pragma omp atomic
    cancelled += 1;
    if (i > 100) {
#pragma omp cancel for
    }
#pragma omp cancellation point for
  }

  int chain[8] = {1};
#pragma omp target parallel for ordered(1) num_threads(2) map(tofrom : chain)
  for (int i = 1; i < 8; ++i) {
#pragma omp ordered doacross(sink : i - 1)
    chain[i] = 2 * chain[i - 1];
#pragma omp ordered doacross(source :)
  }

  std::printf("filtered %d flushed %d tasks %d cancelled %d chain %d\n", filtered,
              flushed, tasks, cancelled, chain[7]);
  return filtered == 7 && flushed == 3 && tasks == 10 && cancelled == 10 && chain[7] == 128
             ? 0
             : 1;
}
