// Exercises: num_teams and thread_limit, constant and computed, on target, teams and parallel, and
// what the queries report where the standard fixes it.
#include <cstdio>
#include <omp.h>

static int run(int teams, int limit) {
  int bad = 0, count = 0;
#pragma omp target teams num_teams(teams) thread_limit(limit) map(tofrom : bad, count)
  {
#pragma omp atomic
    count += omp_get_team_num() == 0;
    if (omp_get_num_teams() > teams || omp_get_team_num() >= omp_get_num_teams())
      bad = 1;
#pragma omp parallel
    {
      if (omp_get_num_threads() > limit)
        bad = 1;
    }
  }
  return bad ? -1 : count;
}

int main() {
  int one = 0, limited = 0;
#pragma omp target teams num_teams(1) thread_limit(1) map(tofrom : one)
  {
    one = omp_get_num_teams() * 10 + omp_get_thread_limit();
  }
#pragma omp target thread_limit(2) map(tofrom : limited)
#pragma omp parallel reduction(max : limited)
  limited = omp_get_num_threads() <= 2 ? 1 : 5;

  int loop = 0;
#pragma omp target teams distribute parallel for num_teams(3) thread_limit(8) num_threads(2)       \
    reduction(+ : loop)
  for (int i = 0; i < 30; ++i)
    loop += 1;

  std::printf("run %d %d one %d limited %d loop %d\n", run(1, 1), run(2, 2), one, limited, loop);
  return run(1, 1) == 1 && run(2, 2) == 1 && one == 11 && limited == 1 && loop == 30 ? 0 : 1;
}
