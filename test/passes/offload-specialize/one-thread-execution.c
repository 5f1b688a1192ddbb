// A program cannot tell whether the bodies of regions were called directly, whatever it sets and asks: with one thread and with more, as
// many teams and threads as the runtime gives it without. That no team is formed where there is one thread is seen in what the runtime is
// told of teams: nothing.
// REQUIRES: x86_64-device
// RUN: bash %S/Inputs/specialize-program.sh %llvm_bin %dist %s %t "teams=1;threads=1" %omp_compile %omp_link -rdynamic -ldl
// RUN: env OMP_NUM_THREADS=1 %run_offload %t.plain > %t.plain.1
// RUN: env OMP_NUM_THREADS=1 %run_offload %t.specialized > %t.specialized.1
// RUN: env OMP_NUM_THREADS=1,3 %run_offload %t.specialized > %t.specialized.1.3
// RUN: env OMP_NUM_THREADS=1,3 %run_offload %t.plain > %t.plain.1.3
// RUN: env OMP_NUM_THREADS=3 %run_offload %t.plain > %t.plain.3
// RUN: env OMP_NUM_THREADS=3 %run_offload %t.specialized > %t.specialized.3
// RUN: env OMP_NUM_THREADS=1 OMP_NUM_TEAMS=2 %run_offload %t.plain > %t.plain.2.teams
// RUN: env OMP_NUM_THREADS=1 OMP_NUM_TEAMS=2 %run_offload %t.specialized > %t.specialized.2.teams
// RUN: grep -v formed %t.plain.1 > %t.same.1 && grep -v formed %t.specialized.1 | diff %t.same.1 -
// RUN: grep -v formed %t.plain.1.3 > %t.same.1.3 && grep -v formed %t.specialized.1.3 | diff %t.same.1.3 -
// RUN: diff %t.plain.3 %t.specialized.3
// RUN: grep -v formed %t.plain.2.teams > %t.same.2.teams && grep -v formed %t.specialized.2.teams | diff %t.same.2.teams -
// RUN: FileCheck %s --check-prefixes=ONE,FORMED < %t.plain.1
// RUN: FileCheck %s --check-prefixes=ONE,DIRECT < %t.specialized.1
// RUN: FileCheck %s --check-prefixes=THREE,FORMED < %t.specialized.3
// RUN: FileCheck %s --check-prefix=TEAMS < %t.specialized.2.teams

// ONE: levels of callbacks {{[1-9]}}
// ONE: who: teams 1, threads 1
// ONE: parallel: threads 1
// ONE: nested: threads 2
// ONE: asked for: threads 3
// THREE: who: teams 1, threads
// THREE: parallel: threads 3
// TEAMS: who: teams 2, threads 1
// FORMED: 7 leagues formed
// DIRECT: 0 leagues formed

#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

// What kernels with a `num_teams` clause tell the runtime before it forms a league.
static int formed;
void __kmpc_push_num_teams(void *location, int thread, int teams, int limit) {
  void (*next)(void *, int, int, int) = dlsym(RTLD_NEXT, "__kmpc_push_num_teams");
  formed++;
  next(location, thread, teams, limit);
}

#define N 100
static long x[N];

static void show(const char *what) {
  unsigned long hash = 7;
  for (int i = 0; i < N; i++) {
    hash = hash * 31 + (unsigned long)x[i];
    x[i] = i * 3;
  }
  printf("%s: %lx\n", what, hash);
}

// Loops of every kind of variable, schedule and direction, empty ones among them.
static void loops(int n, unsigned from, unsigned long large, int one) {
#pragma omp target teams distribute parallel for num_teams(one) map(tofrom : x)
  for (int i = 0; i < n; i++)
    x[i] += i;
  show("int");
#pragma omp target teams distribute parallel for num_teams(one) dist_schedule(static, 7) schedule(static, 3) map(tofrom : x)
  for (unsigned i = from; i > 2; i -= 3)
    x[i] += i;
  show("unsigned, down, in chunks");
#pragma omp target teams distribute parallel for num_teams(one) collapse(2) map(tofrom : x)
  for (unsigned long i = large; i < large + 4; i++)
    for (long k = -4; k < 5; k += 2)
      x[(i - large) * 10 + (unsigned long)(k + 4)] -= k;
  show("unsigned long and long");
  long last = 5;
#pragma omp target teams distribute parallel for num_teams(one) lastprivate(last) map(tofrom : x, last)
  for (long i = n; i < (long)from; i++)
    x[i] += last = i;
  printf("empty: last %ld\n", last);
#pragma omp target teams distribute parallel for num_teams(one) lastprivate(last) map(tofrom : x, last)
  for (long i = 0; i < (long)from; i++)
    x[i] += last = i;
  printf("not empty: last %ld\n", last);
  show("last");
}

static void regions(int n, int one) {
  long sum = 3, most = 0;
#pragma omp target teams distribute parallel for num_teams(one) reduction(+ : sum) reduction(max : most) map(tofrom : sum, most) map(to : x)
  for (int i = 0; i < n; i++) {
    sum += x[i] * i;
    most = most > x[i] ? most : x[i];
  }
  printf("reduction: %ld %ld\n", sum, most);
#pragma omp target teams num_teams(one) map(tofrom : x)
  {
    long before = x[1];
#pragma omp parallel
    {
#pragma omp master
      x[1] += before + 1;
#pragma omp barrier
#pragma omp single
      x[2] += x[1];
#pragma omp critical
      x[3] = x[2];
#pragma omp for nowait
      for (int i = 10; i < n; i++)
        x[i] += i;
    }
#pragma omp parallel for num_threads(4)
    for (int i = 10; i < n; i++)
      x[i] *= 2;
  }
  show("regions");
}

#pragma omp begin declare target
static int levels;
static int up(const void *left, const void *right) {
  levels += omp_get_level();
  return (*(const long *)left > *(const long *)right) - (*(const long *)left < *(const long *)right);
}
static int down(const void *left, const void *right) { return up(right, left); }
#pragma omp end declare target

// The library calls a function of the program, whichever it is.
static void callbacks(int n) {
  int asked = 0;
#pragma omp target parallel map(tofrom : x) map(from : asked)
#pragma omp single
  {
    levels = 0;
    qsort(x, n, sizeof *x, n > 5 ? down : up);
    asked = levels;
  }
  printf("levels of callbacks %d\n", asked);
  show("sorted");
}

static void questions(int n, int three) {
  int teams = 0, threads = 0, level = 0;
#pragma omp target teams distribute parallel for map(from : teams, threads)
  for (int i = 0; i < 1; i++) {
    teams = omp_get_num_teams();
    threads = omp_get_num_threads() + omp_get_thread_num() + omp_get_team_num();
  }
  printf("who: teams %d, threads %d\n", teams, threads);
#pragma omp target parallel map(from : threads)
  {
#pragma omp single
    threads = omp_get_num_threads();
  }
  printf("parallel: threads %d\n", threads);
#pragma omp target parallel map(from : threads, level)
#pragma omp single
  {
    level = omp_get_level() * 100 + omp_get_active_level() * 10 + omp_in_parallel();
    threads = omp_get_max_threads();
  }
  printf("levels %d, threads of the next %d\n", level, threads);
  // A region of one thread is not active, so the one within may get more.
#pragma omp target parallel num_threads(1) map(from : threads)
#pragma omp parallel num_threads(2)
#pragma omp single
  threads = omp_get_num_threads();
  printf("nested: threads %d\n", threads);
  threads = 0;
#pragma omp target parallel for schedule(dynamic, 2) map(tofrom : x)
  for (int i = 0; i < n; i++)
    x[i] += 4;
  show("dynamic");
#pragma omp target parallel num_threads(three) map(from : threads)
#pragma omp single
  threads = omp_get_num_threads();
  printf("asked for: threads %d\n", threads);
}

int main(void) {
  show("nothing");
  loops(N, N - 1, 1ul << 60, 1);
  regions(N, 1);
  callbacks(N);
  questions(N, 3);
  printf("%d leagues formed\n", formed);
  return 0;
}
