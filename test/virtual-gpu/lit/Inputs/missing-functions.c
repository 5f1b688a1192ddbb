/* What programs of later LLVMs call and the OpenMP device runtime of LLVM 19 for NVIDIA GPUs has not. Compiled by the LLVM of the
   programs, and linked to the runtime in this order, so that the whole has the data layout of that LLVM. */

typedef void region_t(void);
typedef void between_warps_t(void *data, int warps);
typedef void shuffle_t(void *data, short lane, short offset, short algorithm);
typedef void with_buffer_t(void *buffer, int team, void *data);

void __kmpc_parallel_51(void *place, int thread, int is_parallel, int threads, int bind, region_t *region, region_t *wrapper,
                        void **arguments, long count);
char __kmpc_is_spmd_exec_mode(void);
unsigned __kmpc_get_hardware_thread_id_in_block(void);
int omp_get_num_teams(void);
int omp_get_team_num(void);

/* Since LLVM 22: a parallel region with a last argument. */
void __kmpc_parallel_60(void *place, int thread, int is_parallel, int threads, int bind, region_t *region, region_t *wrapper,
                        void **arguments, long count, int is_strict) {
  __kmpc_parallel_51(place, thread, is_parallel, threads, bind, region, wrapper, arguments, count);
}

/* The launch environment of LLVM 23: `KernelLaunchEnvironmentTy` of `Shared/Environment.h`. */
typedef struct {
  /* Room for what each team has. */
  void *buffer;
  void *fallback_memory;
  /* How many teams have put it there. */
  unsigned teams_done;
  unsigned memory_size;
  char memory_fallback;
} launch_environment_t;

/* `state::getKernelLaunchEnvironment` */
launch_environment_t *_ZN4ompx5state26getKernelLaunchEnvironmentEv(void);

/* Since LLVM 23: reduces what the teams have. Each puts its own into the buffer; one thread of the last to come reduces all that
   is there. Whether the caller is this thread. */
int __kmpc_gpu_xteam_reduce_nowait(void *place, void *data, shuffle_t *shuffle, between_warps_t *between_warps,
                                   with_buffer_t *put, with_buffer_t *take, with_buffer_t *reduce) {
  /* In generic mode none but the main thread comes here, and it is not the first of the block. */
  if (__kmpc_is_spmd_exec_mode() && __kmpc_get_hardware_thread_id_in_block() != 0)
    return 0;
  int teams = omp_get_num_teams();
  if (teams <= 1)
    return 1;
  launch_environment_t *environment = _ZN4ompx5state26getKernelLaunchEnvironmentEv();
  put(environment->buffer, omp_get_team_num(), data);
  __nvvm_membar_gl();
  unsigned last = teams - 1;
  if (__nvvm_atom_inc_gen_ui(&environment->teams_done, last) != last)
    return 0;
  __nvvm_membar_gl();
  take(environment->buffer, 0, data);
  for (int team = 1; team < teams; ++team)
    reduce(environment->buffer, team, data);
  return 1;
}
