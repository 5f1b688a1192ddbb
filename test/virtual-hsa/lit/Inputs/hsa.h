// The functions of AMD's runtime that the tests call, and a check of what they answer.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t handle_t;
typedef struct {
  uint32_t type, features;
  void *base_address;
  handle_t doorbell_signal;
  uint32_t size, reserved;
  uint64_t id;
} queue_t;
typedef struct {
  uint16_t header, setup, workgroup[3], reserved0;
  uint32_t grid[3], private_size, group_size;
  uint64_t kernel_object;
  void *arguments;
  uint64_t reserved2;
  handle_t completion;
} packet_t;
typedef void (*writer_t)(const void *, uint64_t);

int hsa_init(void);
int hsa_shut_down(void);
int hsa_status_string(int, const char **);
int hsa_iterate_agents(int (*)(handle_t, void *), void *);
int hsa_amd_agent_iterate_memory_pools(handle_t, int (*)(handle_t, void *), void *);
int hsa_amd_memory_pool_allocate(handle_t, size_t, uint32_t, void **);
int hsa_amd_memory_pool_free(void *);
int hsa_amd_agents_allow_access(uint32_t, const handle_t *, const uint32_t *, const void *);
int hsa_amd_memory_lock(void *, size_t, handle_t *, int, void **);
int hsa_amd_memory_unlock(void *);
int hsa_amd_memory_fill(void *, uint32_t, size_t);
int hsa_amd_memory_async_copy(void *, handle_t, const void *, handle_t, size_t, uint32_t, const handle_t *, handle_t);
int hsa_signal_create(int64_t, uint32_t, const handle_t *, handle_t *);
int hsa_signal_destroy(handle_t);
int64_t hsa_signal_load_scacquire(handle_t);
void hsa_signal_store_relaxed(handle_t, int64_t);
void hsa_signal_subtract_screlease(handle_t, int64_t);
int64_t hsa_signal_wait_scacquire(handle_t, int, int64_t, uint64_t, int);
int hsa_amd_signal_async_handler(handle_t, int, int64_t, bool (*)(int64_t, void *), void *);
int hsa_queue_create(handle_t, uint32_t, uint32_t, void (*)(int, queue_t *, void *), void *, uint32_t, uint32_t, queue_t **);
int hsa_amd_queue_intercept_create(handle_t, uint32_t, uint32_t, void (*)(int, queue_t *, void *), void *, uint32_t, uint32_t,
                                   queue_t **);
int hsa_amd_queue_intercept_register(queue_t *, void (*)(const void *, uint64_t, uint64_t, void *, writer_t), void *);
int hsa_amd_profiling_set_profiler_enabled(queue_t *, int);
int hsa_amd_profiling_get_dispatch_time(handle_t, handle_t, uint64_t *);
int hsa_queue_destroy(queue_t *);
uint64_t hsa_queue_add_write_index_relaxed(queue_t *, uint64_t);
uint64_t hsa_queue_load_read_index_scacquire(queue_t *);
int hsa_code_object_deserialize(void *, size_t, const char *, handle_t *);
int hsa_code_object_destroy(handle_t);
int hsa_executable_create_alt(int, int, const char *, handle_t *);
int hsa_executable_load_code_object(handle_t, handle_t, handle_t, const char *);
int hsa_executable_freeze(handle_t, const char *);
int hsa_executable_destroy(handle_t);
int hsa_executable_get_symbol_by_name(handle_t, const char *, const handle_t *, handle_t *);
int hsa_executable_symbol_get_info(handle_t, int, void *);

enum {
  SUCCESS = 0,
  INVALID_ARGUMENT = 0x1001,
  INVALID_ALLOCATION = 0x1003,
  INVALID_AGENT = 0x1004,
  INVALID_SIGNAL = 0x1006,
  INVALID_QUEUE = 0x1007,
  NOT_INITIALIZED = 0x100b,
  INCOMPATIBLE_ARGUMENTS = 0x100d,
  INVALID_CODE_OBJECT = 0x1010,
  FROZEN_EXECUTABLE = 0x1012,
  INVALID_SYMBOL_NAME = 0x1013,
  KERNEL_OBJECT = 22,
};

static inline void expect_in_line(int line, int expected, int found) {
  if (expected == found)
    return;
  printf("line %d: status %#x, not %#x\n", line, found, expected);
  exit(1);
}
#define expect(EXPECTED, CALL) expect_in_line(__LINE__, EXPECTED, CALL)

static handle_t agents[3], host_pools[3], device_pools[2];

static inline int collect(handle_t handle, void *place) {
  handle_t **next = place;
  *(*next)++ = handle;
  return SUCCESS;
}

// Begins with two devices.
static inline void begin(void) {
  handle_t *next = agents;
  expect(SUCCESS, hsa_init());
  expect(SUCCESS, hsa_iterate_agents(collect, &next));
  next = host_pools;
  expect(SUCCESS, hsa_amd_agent_iterate_memory_pools(agents[0], collect, &next));
  next = device_pools;
  expect(SUCCESS, hsa_amd_agent_iterate_memory_pools(agents[1], collect, &next));
}

static const char *code_file;

// A code object of the file.
static inline handle_t code_object(void) {
  static char bytes[1 << 16];
  FILE *file = fopen(code_file, "rb");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  handle_t object;
  fclose(file);
  expect(SUCCESS, hsa_code_object_deserialize(bytes, size, "", &object));
  return object;
}

// An executable with that code object, frozen.
static inline handle_t executable_for(handle_t agent) {
  handle_t executable, object = code_object();
  expect(SUCCESS, hsa_executable_create_alt(1, 1, "", &executable));
  expect(SUCCESS, hsa_executable_load_code_object(executable, agent, object, ""));
  expect(SUCCESS, hsa_executable_freeze(executable, ""));
  expect(SUCCESS, hsa_code_object_destroy(object));
  return executable;
}

static inline uint64_t kernel(handle_t executable, const char *name) {
  handle_t symbol;
  uint64_t object;
  expect(SUCCESS, hsa_executable_get_symbol_by_name(executable, name, NULL, &symbol));
  expect(SUCCESS, hsa_executable_symbol_get_info(symbol, KERNEL_OBJECT, &object));
  return object;
}

// A launch of kernel `fixed`, which takes no arguments.
static inline packet_t launch(uint64_t object, handle_t completion) {
  packet_t packet = {.header = 0x1402, .setup = 2, .workgroup = {32, 2, 1}, .grid = {64, 2, 1}};
  packet.kernel_object = object;
  packet.completion = completion;
  return packet;
}

// Adds a packet to a queue and rings its doorbell.
static inline void add(queue_t *queue, packet_t packet) {
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  packet_t *place = (packet_t *)queue->base_address + index % queue->size;
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
    ;
  memcpy((char *)place + 4, (char *)&packet + 4, sizeof packet - 4);
  __atomic_store_n((uint32_t *)place, packet.header | (uint32_t)packet.setup << 16, __ATOMIC_RELEASE);
  hsa_signal_store_relaxed(queue->doorbell_signal, index);
}
