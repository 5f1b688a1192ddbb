// Launches the same tiny kernel from several libraries by turns, in blocks, and prints for each round the nanoseconds that a launch from each
// library took: processor time of the launching thread. The order of the libraries changes from round to round. Before that, all launches
// were made twice.
//
// usage: launch-pairs ROUNDS LAUNCHES ARGUMENTS VALUES FIRST COUNT THREADS LIBRARY...
// LAUNCHES of a block; ARGUMENTS: 1 or 10; VALUES: how many different scalars come in turns; in the rounds only COUNT of them do, from FIRST on,
// which counts from 0; each thread makes its own rounds.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  MOST_LIBRARIES = 8,
  // Of what is used.
  WORDS = 8,
  // So many bytes (40 MB) the C library always maps, also on the device: they begin equally far behind a page, and launches of all threads have
  // the same alignment, which is in their keys.
  LENGTH = 10 << 20
};

struct library {
  void (*with_one)(int *);
  void (*with_ten)(int *, int, int, int, int, int, int, int, int);
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

static double block(const struct library *library, int *object, int is_one, int first, int launches, int value, int values) {
  const double begin = now();
  if (is_one)
    for (int number = 0; number < launches; ++number)
      library->with_one(object);
  else
    for (int number = 0; number < launches; ++number)
      library->with_ten(object, 3, 5, 7, 11, 13, 17, 19, value + (first + number) % values);
  return (now() - begin) / launches;
}

static void *needed(void *found) {
  if (!found) {
    fprintf(stderr, "launch-pairs: %s\n", dlerror());
    exit(1);
  }
  return found;
}

int main(int count, char **arguments) {
  if (count < 9 || count - 8 > MOST_LIBRARIES)
    return 2;
  const int rounds = atoi(arguments[1]), launches = atoi(arguments[2]), is_one = atoi(arguments[3]) == 1,
            values = atoi(arguments[4]), first_value = 2 + atoi(arguments[5]), turns = atoi(arguments[6]), threads = atoi(arguments[7]),
            libraries = count - 8;
  struct library loaded[MOST_LIBRARIES];
  for (int library = 0; library < libraries; ++library) {
    void *handle = needed(dlopen(arguments[8 + library], RTLD_NOW | RTLD_LOCAL));
    loaded[library].with_one = (void (*)(int *))needed(dlsym(handle, "launch_with_one"));
    loaded[library].with_ten =
        (void (*)(int *, int, int, int, int, int, int, int, int))needed(dlsym(handle, "launch_with_ten"));
  }
  double *times = malloc(sizeof(double) * libraries * rounds * threads);
  long made = 0;
#pragma omp parallel num_threads(threads) reduction(+ : made)
  {
    int *object = calloc(LENGTH, sizeof *object);
    if (!object)
      exit(1);
#pragma omp target data map(alloc : object[0 : LENGTH])
    {
#pragma omp target update to(object[0 : WORDS])
      for (int pass = 0; pass < 2; ++pass) {
        for (int library = 0; library < libraries; ++library)
          block(&loaded[library], object, is_one, 0, values, 2, values);
#pragma omp barrier
      }
#pragma omp for schedule(static, 1)
      for (int thread = 0; thread < threads; ++thread)
        for (int round = 0; round < rounds; ++round)
          for (int turn = 0; turn < libraries; ++turn) {
            // Each library is in each place, and behind each other one, as often.
            const int library = (round % 2 ? libraries - 1 - turn : turn) + round / 2;
            double *time = times + ((long)thread * rounds + round) * libraries + library % libraries;
            *time =
                block(&loaded[library % libraries], object, is_one, round * launches, launches, first_value, turns);
          }
#pragma omp target update from(object[0 : WORDS])
    }
    made = object[1];
    free(object);
  }
  const long expected = (long)threads * libraries * (2L * values + (long)rounds * launches);
  // A virtual GPU that is told to skip kernels counts nothing.
  if (made != expected && !getenv("OFFLOOM_VIRTUAL_GPU_KERNELS")) {
    fprintf(stderr, "launch-pairs: %ld launches of %ld were made\n", made, expected);
    return 1;
  }
  for (long round = 0; round < (long)rounds * threads; ++round)
    for (int library = 0; library < libraries; ++library)
      printf("%.1f%c", times[round * libraries + library], library + 1 < libraries ? ' ' : '\n');
  free(times);
}
