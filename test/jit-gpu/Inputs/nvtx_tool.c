// Stands in for a profiler: prints the ranges that threads begin and end, as NVTX tells them to a library that
// NVTX_INJECTION64_PATH names (nvtx3/nvtxDetail/nvtxTypes.h of NVIDIA's NVTX).
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef void (*Function)(void);

// NvtxExportTableCallbacks, which is table 1.
struct Callbacks {
  size_t size;
  int (*functions)(uint32_t module, Function ***table, unsigned *size);
};

enum { CALLBACKS = 1, MODULE_CORE = 1, RANGE_PUSH_A = 9, RANGE_POP = 11 };

static int push(const char *message) {
  fprintf(stderr, "[%s\n", message);
  return 0;
}

static int pop(void) {
  fprintf(stderr, "]\n");
  return 0;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t)) {
  const struct Callbacks *callbacks = export_table(CALLBACKS);
  Function **table;
  unsigned size;
  if (!callbacks || !callbacks->functions(MODULE_CORE, &table, &size) || size <= RANGE_POP)
    return 0;
  *table[RANGE_PUSH_A] = (Function)push;
  *table[RANGE_POP] = (Function)pop;
  return 1;
}
