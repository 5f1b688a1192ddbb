// A tool of AMD's runtime: has the functions that it gives to tools alone, under their names. The runtime opens what HSA_TOOLS_LIB names.
#include "hsa.h"

struct version {
  uint32_t major, size, step, reserved;
};

// What the tables have up to here (hsa_api_trace.h).
struct extensions {
  struct version version;
  void *others[37];
  int (*create)(handle_t, uint32_t, uint32_t, void (*)(int, queue_t *, void *), void *, uint32_t, uint32_t, queue_t **);
  int (*intercept)(queue_t *, void (*)(const void *, uint64_t, uint64_t, void *, writer_t), void *);
};

struct tables {
  struct version version;
  void *core;
  const struct extensions *extensions;
};

static const struct extensions *given;

bool OnLoad(const struct tables *tables, uint64_t version, uint64_t failures, const char *const *names) {
  given = tables->extensions;
  return given->version.major == 2 && given->version.size >= sizeof *given;
}

int hsa_amd_queue_intercept_create(handle_t agent, uint32_t size, uint32_t type, void (*callback)(int, queue_t *, void *), void *data,
                                   uint32_t private_segment, uint32_t group_segment, queue_t **queue) {
  return given->create(agent, size, type, callback, data, private_segment, group_segment, queue);
}

int hsa_amd_queue_intercept_register(queue_t *queue, void (*handler)(const void *, uint64_t, uint64_t, void *, writer_t), void *data) {
  return given->intercept(queue, handler, data);
}
