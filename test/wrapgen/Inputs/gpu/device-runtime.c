/* A device runtime for GPUs, for an LLVM whose packages have none: functions of the right types that nothing is known of. Images
   are linked with it, and none is run. */
static volatile int offloom_unknown;
typedef struct ident ident;

int __kmpc_target_init(void *environment, void *launch) { return offloom_unknown; }
void __kmpc_target_deinit(void) { offloom_unknown = 0; }
int __kmpc_global_thread_num(ident *location) { return offloom_unknown; }
int __kmpc_get_hardware_num_threads_in_block(void) { return offloom_unknown; }
int __kmpc_get_hardware_thread_id_in_block(void) { return offloom_unknown; }
int __kmpc_get_warp_size(void) { return offloom_unknown; }
void __kmpc_barrier_simple_generic(ident *location, int thread) { offloom_unknown = 4; }

#define STATIC_INIT(NAME, INTEGER)                                                                          \
  void NAME(ident *location, int thread, int schedule, int *last, INTEGER *lower, INTEGER *upper,           \
            INTEGER *stride, INTEGER increment, INTEGER chunk) {                                            \
    *last = *lower = *upper = *stride = offloom_unknown;                                                    \
  }
STATIC_INIT(__kmpc_distribute_static_init_4, int)
STATIC_INIT(__kmpc_distribute_static_init_8, long)
STATIC_INIT(__kmpc_for_static_init_4, int)
STATIC_INIT(__kmpc_for_static_init_8, long)
void __kmpc_distribute_static_fini(ident *location, int thread) { offloom_unknown = 1; }
void __kmpc_for_static_fini(ident *location, int thread) { offloom_unknown = 2; }

void __kmpc_parallel_60(ident *location, int thread, int condition, int threads, int binding, void (*function)(void),
                        void *wrapper, void **arguments, long count, int strict) {
  if (offloom_unknown)
    function();
}
void *__kmpc_alloc_shared(unsigned long size) { return (void *)(long)offloom_unknown; }
void __kmpc_free_shared(void *memory, unsigned long size) { offloom_unknown = 3; }
