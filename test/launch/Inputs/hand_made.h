// What the pass `offload-entries` and `wrapgen` make of a marked host module, made by hand: an offload entry with its region id for
// each kernel, and the registration of one device image. For tests of the launching side alone.
//
// Compile with -DIMAGE='"file.so"' and the Clang whose libomptarget will read it.
#include <stdint.h>
#include <stdlib.h>

#if __clang_major__ == 19
typedef struct {
  const void *address;
  const char *name;
  uint64_t size;
  int32_t flags, data;
} entry;
#define SECTION omp_offloading_entries
#define FIELDS(id, symbol, size, flags) {&id, symbol, size, flags, 0}
#else
typedef struct {
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  const void *address;
  const char *name;
  uint64_t size, data;
  const void *auxiliary_address;
} entry;
#define SECTION llvm_offload_entries
#define FIELDS(id, symbol, size, flags) {0, 1, 1, flags, &id, symbol, size, 0, 0}
#endif

#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
#define JOIN_OF(a, b) a##b
#define JOIN(a, b) JOIN_OF(a, b)

/// The region id and the entry of the kernel called `kernel`.
#define ENTRY_OF_KERNEL(name, kernel)                                                                                          \
  extern const char region_id_##name __asm__("." kernel ".region_id") __attribute__((weak));                                   \
  const char region_id_##name = 0;                                                                                             \
  __attribute__((section(STRING(SECTION)), used, aligned(8))) static const entry entry_##name = FIELDS(region_id_##name, kernel, 0, 0);
/// The region id and the entry of the marked function `function`.
#define ENTRY(function) ENTRY_OF_KERNEL(function, "__omp_offloading_0_0_" #function "_l0")

/// The variable `name`, an array of ints marked `link`, its pointer and the entry of that.
#define LINK_ENTRY(name)                                                                                                       \
  __attribute__((weak)) int32_t name[4] = {1, 2, 3, 4};                                                                        \
  __attribute__((weak)) void *name##_decl_tgt_ref_ptr = name;                                                                  \
  __attribute__((section(STRING(SECTION)), used, aligned(8))) static const entry entry_link_##name =                           \
      FIELDS(name##_decl_tgt_ref_ptr, #name "_decl_tgt_ref_ptr", sizeof(void *), 1);

typedef struct {
  const void *begin, *end;
  const entry *entries_begin, *entries_end;
} device_image;
typedef struct {
  int32_t images;
  const device_image *image;
  const entry *entries_begin, *entries_end;
} descriptor;

extern const entry entries_begin __asm__("__start_" STRING(SECTION)) __attribute__((visibility("hidden")));
extern const entry entries_end __asm__("__stop_" STRING(SECTION)) __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n.balign 8\nimage_begin: .incbin \"" IMAGE "\"\nimage_end: .popsection");
extern const char image_begin[] __attribute__((visibility("hidden"))), image_end[] __attribute__((visibility("hidden")));

void __tgt_register_lib(const descriptor *);
void __tgt_unregister_lib(const descriptor *);

static const device_image image = {image_begin, image_end, &entries_begin, &entries_end};
static const descriptor images = {1, &image, &entries_begin, &entries_end};

static void unregister_image(void) { __tgt_unregister_lib(&images); }

__attribute__((constructor(101))) static void register_image(void) {
  __tgt_register_lib(&images);
  atexit(unregister_image);
}
