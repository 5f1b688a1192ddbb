// What every workload shares: its command line, reproducible random numbers, checksums, checks and
// kernel times. C11 and C++17; everything is static, so a workload is its own sources and this file.
//
// What a workload prints, one fact a line, in an order that does not change from run to run:
//   workload NAME size N        what runs
//   setting NAME VALUE          a run-time value it uses
//   checksum NAME 0x...         the bits of a result, to compare runs with
//   check NAME ok | WRONG: ...  a result against its reference
//   time KERNEL launches=N total_s=... first_s=... min_s=... median_s=...
//   result ok | WRONG           last line; the exit status is 0 or 1 alike, 2 for a wrong command line
// Only the lines that begin with "time " differ between two equal runs.
#ifndef OFFLOOM_WORKLOAD_H
#define OFFLOOM_WORKLOAD_H

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"
#endif

// One run of a workload: its command line and whether a check has failed so far.
typedef struct {
  const char *name;
  long size;    // main extent; its meaning is the workload's
  int is_large; // 0 for --size small and any size not above it
  int argc;
  char **argv;
  uint64_t arguments_read; // bit i: the i-th pair of arguments is a setting that was read
  int failed;
} workload;

static void workload_usage(const char *name, FILE *out) {
  fprintf(out,
          "usage: %s [--size small|large|N] [--device N] [--set NAME=VALUE]...\n"
          "  --size    main extent of the problem (default small)\n"
          "  --device  OpenMP device number (default: OpenMP's own default)\n"
          "  --set     another value for what a `setting` line of the output names\n",
          name);
}

static long workload_whole_number(const char *name, const char *text) {
  char *end = NULL;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno || end == text || *end != '\0') {
    fprintf(stderr, "%s: `%s` is not a whole number\n", name, text);
    exit(2);
  }
  return value;
}

// Reads the command line, makes the chosen device OpenMP's default and prints the first line.
static workload workload_begin(int argc, char **argv, const char *name, long small, long large) {
  workload w = {name, small, 0, argc, argv, 0, 0};
  if (argc > 128) {
    fprintf(stderr, "%s: too many arguments\n", name);
    exit(2);
  }
  for (int i = 1; i < argc; i += 2) {
    if (strcmp(argv[i], "--help") == 0) {
      workload_usage(name, stdout);
      exit(0);
    }
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (value && strcmp(argv[i], "--size") == 0) {
      w.size = strcmp(value, "small") == 0   ? small
               : strcmp(value, "large") == 0 ? large
                                             : workload_whole_number(name, value);
    } else if (value && strcmp(argv[i], "--device") == 0) {
      omp_set_default_device((int)workload_whole_number(name, value));
    } else if (!value || strcmp(argv[i], "--set") != 0 || !strchr(value, '=')) {
      fprintf(stderr, "%s: cannot use argument `%s`\n", name, argv[i]);
      workload_usage(name, stderr);
      exit(2);
    }
  }
  if (w.size < 1) {
    fprintf(stderr, "%s: --size must be at least 1\n", name);
    exit(2);
  }
  w.is_large = w.size > small;
  printf("workload %s size %ld\n", name, w.size);
  return w;
}

// The text given by --set for this name (the last one counts), or NULL; notes that it was read.
static const char *workload_given(workload *w, const char *name) {
  const char *found = NULL;
  size_t length = strlen(name);
  for (int i = 1; i + 1 < w->argc; i += 2)
    if (strcmp(w->argv[i], "--set") == 0 && strncmp(w->argv[i + 1], name, length) == 0 &&
        w->argv[i + 1][length] == '=') {
      found = w->argv[i + 1] + length + 1;
      w->arguments_read |= (uint64_t)1 << (i / 2);
    }
  return found;
}

// A whole-number value of this run, at least `lowest`: by --set, or the default of its size.
static long workload_setting(workload *w, const char *name, long lowest, long small, long large) {
  const char *given = workload_given(w, name);
  long value = given ? workload_whole_number(w->name, given) : w->is_large ? large : small;
  if (value < lowest) {
    fprintf(stderr, "%s: setting %s must be at least %ld\n", w->name, name, lowest);
    exit(2);
  }
  printf("setting %s %ld\n", name, value);
  return value;
}

// A real value of this run: by --set, or the default.
static double workload_real_setting(workload *w, const char *name, double otherwise) {
  const char *given = workload_given(w, name);
  double value = otherwise;
  if (given) {
    char *end = NULL;
    value = strtod(given, &end);
    if (end == given || *end != '\0' || !isfinite(value)) {
      fprintf(stderr, "%s: `%s` is not a number\n", w->name, given);
      exit(2);
    }
  }
  printf("setting %s %.17g\n", name, value);
  return value;
}

// Refuses a --set that no setting has read; to be called once all are read.
static void workload_settings_end(const workload *w) {
  for (int i = 1; i + 1 < w->argc; i += 2)
    if (strcmp(w->argv[i], "--set") == 0 && !(w->arguments_read >> (i / 2) & 1)) {
      fprintf(stderr, "%s: there is no setting `%s`\n", w->name, w->argv[i + 1]);
      exit(2);
    }
}

// Prints the verdict; the return value is the process's exit status.
static int workload_end(const workload *w) {
  printf("result %s\n", w->failed ? "WRONG" : "ok");
  return w->failed;
}

// ---- random numbers: the same number for the same (seed, index) on every machine and device

#pragma omp declare target
static inline uint64_t workload_random(uint64_t seed, uint64_t index) {
  uint64_t z = seed * 0xD1342543DE82EF95u + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// In [0, 1), a multiple of 2^-53.
static inline double workload_uniform(uint64_t seed, uint64_t index) {
  return (double)(workload_random(seed, index) >> 11) * 0x1p-53;
}
#pragma omp end declare target

static void workload_fill(double *data, size_t count, uint64_t seed, double from, double to) {
  for (size_t i = 0; i < count; ++i)
    data[i] = from + (to - from) * workload_uniform(seed, i);
}

static void workload_fill_float(float *data, size_t count, uint64_t seed, float from, float to) {
  for (size_t i = 0; i < count; ++i)
    data[i] = (float)(from + (to - from) * workload_uniform(seed, i));
}

// ---- checksums and checks

// Prints a checksum of the bytes in order: equal results have equal bits.
static void workload_checksum(const char *what, const void *data, size_t bytes) {
  const unsigned char *at = (const unsigned char *)data;
  uint64_t sum = 0xCBF29CE484222325u ^ bytes;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    memcpy(&word, at + i, bytes - i < 8 ? bytes - i : 8);
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    sum ^= sum >> 32;
  }
  printf("checksum %s 0x%016llx\n", what, (unsigned long long)sum);
}

// How far apart the elements are that a check looks at: all of a small run, about 10,000 of a large one.
static size_t workload_check_stride(const workload *w, size_t count) {
  return w->is_large && count > 20011 ? count / 10007 : 1;
}

// A check in progress: what differed first and how many did.
typedef struct {
  workload *owner;
  const char *what;
  size_t looked_at, wrong, first_index;
  double first_got, first_want;
} workload_check;

static workload_check workload_check_begin(workload *w, const char *what) {
  workload_check check = {w, what, 0, 0, 0, 0, 0};
  return check;
}

// Notes one element; it may be off by relative * |want| + absolute. NaN is always wrong.
static void workload_check_value(workload_check *check, size_t index, double got, double want,
                                 double relative, double absolute) {
  ++check->looked_at;
  if (fabs(got - want) <= relative * fabs(want) + absolute)
    return;
  if (check->wrong++ == 0) {
    check->first_index = index;
    check->first_got = got;
    check->first_want = want;
  }
}

// Prints the outcome; a check that looked at nothing is wrong.
static void workload_check_end(workload_check *check) {
  if (check->looked_at == 0) {
    printf("check %s WRONG: nothing was looked at\n", check->what);
    check->owner->failed = 1;
  } else if (check->wrong) {
    printf("check %s WRONG: %zu of %zu, first at %zu: %.17g instead of %.17g\n", check->what, check->wrong,
           check->looked_at, check->first_index, check->first_got, check->first_want);
    check->owner->failed = 1;
  } else {
    printf("check %s ok\n", check->what);
  }
}

// A check of one fact.
static void workload_check_that(workload *w, const char *what, int holds) {
  printf("check %s %s\n", what, holds ? "ok" : "WRONG: does not hold");
  if (!holds)
    w->failed = 1;
}

// ---- kernel times, taken on the host around each launch with all data already on the device

typedef struct {
  const char *name;
  double *seconds;
  size_t count, capacity;
  double started;
} workload_timer;

static workload_timer workload_timer_new(const char *name) {
  workload_timer timer = {name, NULL, 0, 0, 0};
  return timer;
}

static inline void workload_timer_start(workload_timer *timer) { timer->started = omp_get_wtime(); }

static inline void workload_timer_stop(workload_timer *timer) {
  double elapsed = omp_get_wtime() - timer->started;
  if (timer->count == timer->capacity) {
    timer->capacity = timer->capacity ? 2 * timer->capacity : 1024;
    timer->seconds = (double *)realloc(timer->seconds, timer->capacity * sizeof(double));
    if (!timer->seconds)
      abort();
  }
  timer->seconds[timer->count++] = elapsed;
}

static int workload_compare_doubles(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

// Prints the time line and frees the timer.
static void workload_timer_end(workload_timer *timer) {
  double total = 0, first = timer->count ? timer->seconds[0] : 0;
  for (size_t i = 0; i < timer->count; ++i)
    total += timer->seconds[i];
  if (timer->count)
    qsort(timer->seconds, timer->count, sizeof(double), workload_compare_doubles);
  printf("time %s launches=%zu total_s=%.9f first_s=%.9f min_s=%.9f median_s=%.9f\n", timer->name, timer->count,
         total, first, timer->count ? timer->seconds[0] : 0, timer->count ? timer->seconds[timer->count / 2] : 0);
  free(timer->seconds);
  timer->seconds = NULL;
}

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#endif
