// Launches a kernel through the driver, and prints with what each step ends where it is not right. Ends with 0 all the same: only a
// crash, and wrong use, end otherwise.
//
//   launch IMAGE KERNEL BLOCKS THREADS [SHARED_BYTES [OTHER_IMAGE]]
//
// The kernel gets the address of 128 words, the address of 128 words that were freed, and, with OTHER_IMAGE, what the variable `table`
// of that image holds, once its kernel `fill` has run; else 0.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long address;

static void *driver;

static int called(const char *name, int code) {
  int (*error_name)(int, const char **) = (int (*)(int, const char **))dlsym(driver, "cuGetErrorName");
  const char *text = "?";
  if (code == 0)
    return 0;
  error_name(code, &text);
  printf("%s: %s (%d)\n", name, text, code);
  return code;
}

// A driver function's result, told where it is an error.
#define CALL(name, types, ...) called(#name, ((int (*) types)dlsym(driver, #name))(__VA_ARGS__))

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  static const long most = 1 << 20;
  char *bytes = calloc(1, most);
  if (!file || fread(bytes, 1, most - 1, file) == 0) {
    printf("cannot read %s\n", path);
    exit(2);
  }
  fclose(file);
  return bytes;
}

static int run(void *module, const char *name, unsigned blocks, unsigned threads, unsigned shared, void **parameters) {
  void *kernel;
  if (CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, name))
    return 1;
  if (CALL(cuLaunchKernel,
           (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), kernel,
           blocks, 1, 1, threads, 1, 1, shared, NULL, parameters, NULL))
    return 1;
  return CALL(cuCtxSynchronize, (void), );
}

int main(int count, char **arguments) {
  int device;
  void *context, *module, *other;
  address words, freed, from_other = 0;
  if (count < 5 || !(driver = dlopen("libcuda.so.1", RTLD_NOW))) {
    printf("usage: launch IMAGE KERNEL BLOCKS THREADS [SHARED_BYTES [OTHER_IMAGE]]\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IONBF, 0);
  unsigned shared = count > 5 ? (unsigned)atol(arguments[5]) : 0;
  if (CALL(cuInit, (unsigned), 0) || CALL(cuDeviceGet, (int *, int), &device, 0) ||
      CALL(cuCtxCreate_v2, (void **, unsigned, int), &context, 0, device) ||
      CALL(cuModuleLoadData, (void **, const void *), &module, read_file(arguments[1])) ||
      CALL(cuMemAlloc_v2, (address *, size_t), &words, 512) || CALL(cuMemAlloc_v2, (address *, size_t), &freed, 512) ||
      CALL(cuMemFree_v2, (address), freed) || CALL(cuMemsetD32_v2, (address, unsigned, size_t), words, 0, 128))
    return 0;
  if (count > 6) {
    address table;
    size_t size;
    if (CALL(cuModuleLoadData, (void **, const void *), &other, read_file(arguments[6])) || run(other, "fill", 1, 1, 0, NULL) ||
        CALL(cuModuleGetGlobal_v2, (address *, size_t *, void *, const char *), &table, &size, other, "table") ||
        CALL(cuMemcpyDtoH_v2, (void *, address, size_t), &from_other, table, sizeof from_other))
      return 0;
  }
  void *parameters[] = {&words, &freed, &from_other};
  run(module, arguments[2], (unsigned)atol(arguments[3]), (unsigned)atol(arguments[4]), shared, parameters);
  // An error of a kernel stays.
  unsigned values[128];
  if (CALL(cuMemcpyDtoH_v2, (void *, address, size_t), values, words, sizeof values))
    return 0;
  printf("words: %u %u %u %u\n", values[0], values[1], values[2], values[3]);
  return 0;
}
