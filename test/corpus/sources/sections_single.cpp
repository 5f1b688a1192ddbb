// Exercises: sections, single with copyprivate, masked, barrier, threadprivate-free copies and tasks
// inside a region's parallel construct.
#include <cstdio>

int main() {
  int section[3] = {0}, singles = 0, masks = 0, copied = 0, tasks = 0;

#pragma omp target parallel num_threads(2) map(tofrom : section, singles, masks, copied, tasks)
  {
    int from_single = 0;
#pragma omp sections
    {
#pragma omp section
      section[0] = 11;
#pragma omp section
      section[1] = 22;
#pragma omp section
      section[2] = 33;
    }
#pragma omp single copyprivate(from_single)
    {
      singles += 1;
      from_single = 9;
    }
#pragma omp masked
    masks += 1;
#pragma omp barrier
#pragma omp critical
    copied = from_single;
#pragma omp single nowait
    {
      for (int i = 0; i < 10; ++i) {
#pragma omp task firstprivate(i) shared(tasks)
#pragma omp atomic
        tasks += i;
      }
#pragma omp taskwait
    }
  }

  int looped = 0;
#pragma omp target map(tofrom : looped)
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(4) shared(looped)
  for (int i = 0; i < 20; ++i) {
#pragma omp atomic
    looped += i;
  }

  std::printf("section %d %d %d singles %d masks %d copied %d tasks %d looped %d\n", section[0],
              section[1], section[2], singles, masks, copied, tasks, looped);
  return section[0] + section[1] + section[2] == 66 && singles == 1 && masks == 1 && copied == 9 &&
                 tasks == 45 && looped == 190
             ? 0
             : 1;
}
