// Asks NVIDIA's driver, without CUDA's tools or headers.
//
//   probe device              name, compute capability and the driver's version of the first device, one a line
//   probe kernel FILE KERNEL  the 128 words that a kernel of this PTX writes, launched with 128 threads in one block
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;

static void *driver;

// The driver's function; ends the program where there is none.
static void *function(const char *name) {
  void *found = dlsym(driver, name);
  if (!found) {
    fprintf(stderr, "the driver has no %s\n", name);
    exit(1);
  }
  return found;
}

static void check(const char *name, int code) {
  const char *text = NULL;
  if (code == 0)
    return;
  ((int (*)(int, const char **))function("cuGetErrorName"))(code, &text);
  fprintf(stderr, "%s: %s (%d)\n", name, text ? text : "?", code);
  exit(1);
}

// Calls the driver; ends the program where it answers with an error.
#define CALL(name, types, ...) check(#name, ((int (*) types)function(#name))(__VA_ARGS__))

static char *read_file(const char *path) {
  static char bytes[1 << 20];
  FILE *file = fopen(path, "rb");
  if (!file || fread(bytes, 1, sizeof bytes - 1, file) == 0) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  fclose(file);
  return bytes;
}

static void print_device(int device) {
  char name[256];
  int major, minor, version;
  CALL(cuDeviceGetName, (char *, int, int), name, sizeof name, device);
  CALL(cuDeviceGetAttribute, (int *, int, int), &major, 75, device);
  CALL(cuDeviceGetAttribute, (int *, int, int), &minor, 76, device);
  CALL(cuDriverGetVersion, (int *), &version);
  printf("%s\n%d %d\n%d\n", name, major, minor, version);
}

static void run_kernel(int device, const char *file, const char *name) {
  void *context, *module, *kernel;
  address words;
  unsigned values[128];
  CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
  CALL(cuCtxSetCurrent, (void *), context);
  CALL(cuModuleLoadData, (void **, const void *), &module, read_file(file));
  CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, name);
  CALL(cuMemAlloc_v2, (address *, size_t), &words, sizeof values);
  CALL(cuMemsetD32_v2, (address, unsigned, size_t), words, 0, 128);
  void *parameters[] = {&words};
  CALL(cuLaunchKernel,
       (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), kernel, 1, 1,
       1, 128, 1, 1, 0, NULL, parameters, NULL);
  CALL(cuCtxSynchronize, (void), );
  CALL(cuMemcpyDtoH_v2, (void *, address, size_t), values, words, sizeof values);
  for (int i = 0; i < 128; ++i)
    printf("%u%c", values[i], i % 16 == 15 ? '\n' : ' ');
}

int main(int count, char **arguments) {
  int device;
  if (!(driver = dlopen("libcuda.so.1", RTLD_NOW))) {
    fprintf(stderr, "there is no driver for NVIDIA GPUs: %s\n", dlerror());
    return 1;
  }
  CALL(cuInit, (unsigned), 0);
  CALL(cuDeviceGet, (int *, int), &device, 0);
  if (count == 2 && strcmp(arguments[1], "device") == 0)
    print_device(device);
  else if (count == 4 && strcmp(arguments[1], "kernel") == 0)
    run_kernel(device, arguments[2], arguments[3]);
  else
    return 2;
  return 0;
}
