// Exercises: omp_get_* calls in device code whose results are fixed by the clauses, and the
// difference of device and host without printing it.
#include <cstdio>
#include <omp.h>

int main() {
  int teams = 0, team = 0, thread = 0, level = 0, active = 0, nested = 0, cancel = 0;
  int device_is_host = -1, host_is_host = omp_is_initial_device();
#pragma omp target teams num_teams(1) thread_limit(2)                                              \
    map(from : teams, team, thread, level, active, nested, cancel, device_is_host)
  {
    teams = omp_get_num_teams();
    team = omp_get_team_num();
    thread = omp_get_thread_num();
    level = omp_get_level();
    active = omp_in_parallel();
    cancel = omp_get_cancellation();
    device_is_host = omp_is_initial_device();
#pragma omp parallel num_threads(1)
    nested = omp_get_level() * 10 + omp_get_num_threads() + omp_get_ancestor_thread_num(0);
  }

  int set = 0;
#pragma omp target map(from : set) thread_limit(3)
  {
    omp_set_num_threads(1);
    set = omp_get_max_threads() == 1;
  }
  const bool known = device_is_host == 0 || device_is_host == 1;
  std::printf("teams %d/%d thread %d level %d active %d nested %d cancel %d host %d %d set %d\n",
              team, teams, thread, level, active, nested, cancel, host_is_host, known, set);
  return teams == 1 && team == 0 && thread == 0 && level == 0 && nested == 11 &&
                 known && host_is_host == 1 && set == 1
             ? 0
             : 1;
}
