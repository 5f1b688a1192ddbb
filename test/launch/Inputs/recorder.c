// Stands in for libomptarget: prints what it is called with, runs nothing and says it had. Only kernel arguments are shown (LLVM 22 lists pointers
// to attach as well), and whether a map was implicit is left out.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct arguments {
  uint32_t version, count;
  void **base_pointers, **pointers;
  int64_t *sizes, *types;
  void **names, **mappers;
  uint64_t trip_count, flags;
  uint32_t num_teams[3], thread_limit[3], dynamic_memory;
};

int __tgt_target_kernel(void *location, int64_t device, int32_t num_teams, int32_t thread_limit, void *id, struct arguments *a) {
  (void)location, (void)id;
  printf("device %d, teams %d, threads %d\n", (int)device, num_teams, thread_limit);
  printf("version %u, trip count %d, flags %d, teams %d %d %d, threads %d %d %d, memory %u\n", a->version, (int)a->trip_count,
         (int)a->flags, a->num_teams[0], a->num_teams[1], a->num_teams[2], a->thread_limit[0], a->thread_limit[1], a->thread_limit[2],
         a->dynamic_memory);
  for (uint32_t i = 0; i < a->count; i++) {
    const int64_t type = a->types[i] & ~INT64_C(0x200);
    if ((type & 0x20) == 0)
      continue;
    printf("type %#x, %d bytes", (unsigned)type, (int)a->sizes[i]);
    if (type & 0x100) {
      uint64_t value = 0;
      memcpy(&value, &a->base_pointers[i], (size_t)a->sizes[i]);
      printf(", value %#llx", (unsigned long long)value);
    } else {
      printf(", holds %#x, starts at its base: %d", *(unsigned *)a->pointers[i], a->base_pointers[i] == a->pointers[i]);
    }
    printf("\n");
  }
  return 0;
}

int omp_get_num_devices(void) { return 4; }

static void data(const char *what, int64_t device, int32_t count, void **base_pointers, void **pointers, int64_t *sizes, int64_t *types) {
  for (int32_t i = 0; i < count; i++)
    if ((types[i] & 0x4000) == 0)
      printf("data %s: device %d, type %#x, %d bytes, holds %#x, starts at its base: %d\n", what, (int)device, (unsigned)types[i],
             (int)sizes[i], *(unsigned *)pointers[i], base_pointers[i] == pointers[i]);
}

#define DATA(what)                                                                                                             \
  void __tgt_target_data_##what##_mapper(void *location, int64_t device, int32_t count, void **base_pointers, void **pointers,  \
                                         int64_t *sizes, int64_t *types, void **names, void **mappers) {                       \
    (void)location, (void)names, (void)mappers;                                                                                \
    data(#what, device, count, base_pointers, pointers, sizes, types);                                                         \
  }
DATA(begin)
DATA(end)
DATA(update)
