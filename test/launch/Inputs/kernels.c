// Kernels in their final form, as `offload-device` makes them of marked functions: the implicit parameter first, then 8 bytes for each
// argument; since LLVM 23 a list of where these bytes are, with the implicit one last. What they do differs from the host versions in a
// way that shows where they ran.
#include <stdint.h>
#include <string.h>

#define FINAL(function) __attribute__((visibility("protected"))) void __omp_offloading_0_0_##function##_l0
#if __clang_major__ >= 23
#define KERNEL(function) static void function
#else
#define KERNEL(function) FINAL(function)
#endif

static float float_of(uint64_t argument) {
  float value;
  memcpy(&value, &argument, sizeof value);
  return value;
}

KERNEL(saxpy)(void *dyn_ptr, uint64_t a, uint64_t n, const float *x, float *y) {
  (void)dyn_ptr;
  for (uint64_t i = 0; i < n; i++)
    y[i] += float_of(a) * x[i];
}

// The arguments as they arrive, all 8 bytes of each.
KERNEL(values)(void *dyn_ptr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t *seen) {
  (void)dyn_ptr;
  seen[0] = a;
  seen[1] = b;
  seen[2] = c;
  seen[3] = d;
}

// Overwrites everything: what was mapped `from` and `tofrom` changes on the host, the rest does not.
KERNEL(map_types)(void *dyn_ptr, uint64_t n, int32_t *to, int32_t *from, int32_t *tofrom, int32_t *alloc) {
  (void)dyn_ptr;
  for (uint64_t i = 0; i < n; i++) {
    alloc[i] = to[i] + tofrom[i];
    from[i] = alloc[i] * 10;
    tofrom[i] = -tofrom[i];
    to[i] = 0;
  }
}

KERNEL(increment)(void *dyn_ptr, uint64_t n, int32_t *data) {
  (void)dyn_ptr;
  for (uint64_t i = 0; i < n; i++)
    data[i]++;
}

// Reaches a `link` variable through the pointer that the runtime fills in.
__attribute__((weak)) int32_t *table_decl_tgt_ref_ptr;
KERNEL(double_table)(void *dyn_ptr, uint64_t n) {
  (void)dyn_ptr;
  for (uint64_t i = 0; i < n; i++)
    table_decl_tgt_ref_ptr[i] *= 2;
}

// Counts the launches on each device's own copy of the image.
static uint64_t launches;
KERNEL(count_launches)(void *dyn_ptr, uint64_t *result) {
  (void)dyn_ptr;
  *result = ++launches;
}

#define EIGHT(x) uint64_t x##0, uint64_t x##1, uint64_t x##2, uint64_t x##3, uint64_t x##4, uint64_t x##5, uint64_t x##6, uint64_t x##7
#define SUM(x) (x##0 + x##1 * 2 + x##2 * 3 + x##3 * 4 + x##4 * 5 + x##5 * 6 + x##6 * 7 + x##7 * 8)

// As many arguments as the launching side takes: 63 numbers and the result.
KERNEL(many)(void *dyn_ptr, EIGHT(a), EIGHT(b), EIGHT(c), EIGHT(d), EIGHT(e), EIGHT(f), EIGHT(g), uint64_t h0, uint64_t h1, uint64_t h2,
             uint64_t h3, uint64_t h4, uint64_t h5, uint64_t h6, uint64_t *sum) {
  (void)dyn_ptr;
  uint64_t h7 = 0;
  *sum = SUM(a) + SUM(b) + SUM(c) + SUM(d) + SUM(e) + SUM(f) + SUM(g) + SUM(h);
}

#if __clang_major__ >= 23
#define WORD(index) *arguments[index]
#define POINTER(index) (void *)*arguments[index]
#define EIGHT_WORDS(from) WORD(from), WORD(from + 1), WORD(from + 2), WORD(from + 3), WORD(from + 4), WORD(from + 5), WORD(from + 6), WORD(from + 7)

FINAL(saxpy)(uint64_t **arguments) { saxpy(0, WORD(0), WORD(1), POINTER(2), POINTER(3)); }
FINAL(values)(uint64_t **arguments) { values(0, WORD(0), WORD(1), WORD(2), WORD(3), POINTER(4)); }
FINAL(map_types)(uint64_t **arguments) { map_types(0, WORD(0), POINTER(1), POINTER(2), POINTER(3), POINTER(4)); }
FINAL(increment)(uint64_t **arguments) { increment(0, WORD(0), POINTER(1)); }
FINAL(double_table)(uint64_t **arguments) { double_table(0, WORD(0)); }
FINAL(count_launches)(uint64_t **arguments) { count_launches(0, POINTER(0)); }
FINAL(many)(uint64_t **arguments) {
  many(0, EIGHT_WORDS(0), EIGHT_WORDS(8), EIGHT_WORDS(16), EIGHT_WORDS(24), EIGHT_WORDS(32), EIGHT_WORDS(40), EIGHT_WORDS(48), WORD(56), WORD(57),
       WORD(58), WORD(59), WORD(60), WORD(61), WORD(62), POINTER(63));
}
#endif
