/* A device runtime for the pass that links one: some of what Clang's device modules call, with bodies that say
   nothing. No program is run with it. */
static int level;

int omp_get_thread_num(void) { return level; }
int omp_get_num_threads(void) { return 1 + level; }
int omp_get_team_num(void) { return 0; }
int omp_get_num_teams(void) { return 1; }
int omp_is_initial_device(void) { return 0; }

int __kmpc_global_thread_num(void *location) { return omp_get_thread_num() + (location == 0); }
int __kmpc_target_init(void *environment, void *launch) {
  level += environment == launch;
  return -1;
}
void __kmpc_target_deinit(void) { level = 0; }
