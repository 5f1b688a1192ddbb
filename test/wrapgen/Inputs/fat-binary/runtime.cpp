// Runtimes of CUDA and HIP that run nothing and print what they are told.
#include <cstdint>
#include <cstdio>

struct Wrapper {
  uint32_t magic, version;
  const void *image;
  void *unused;
};

#define RUNTIME(NAME)                                                                                                  \
  extern "C" void **__##NAME##RegisterFatBinary(Wrapper *wrapper) {                                                    \
    static void *handle;                                                                                               \
    printf(#NAME " fat binary %x version %u, image %x\n", wrapper->magic, wrapper->version,                            \
           *(const uint32_t *)wrapper->image);                                                                         \
    return &handle;                                                                                                    \
  }                                                                                                                    \
  extern "C" void __##NAME##RegisterFatBinaryEnd(void **) { puts(#NAME " end"); }                                      \
  extern "C" void __##NAME##UnregisterFatBinary(void **) { puts(#NAME " unregistered"); }                              \
  extern "C" int __##NAME##RegisterFunction(void **, const void *, char *, const char *name, int, ...) {               \
    printf(#NAME " kernel %s\n", name);                                                                                \
    return 0;                                                                                                          \
  }                                                                                                                    \
  extern "C" void __##NAME##RegisterVar(void **, char *, char *, const char *name, int external, size_t size,          \
                                        int constant, int) {                                                           \
    printf(#NAME " variable %s: %zu bytes, external %d, constant %d\n", name, size, external, constant);               \
  }                                                                                                                    \
  extern "C" void __##NAME##RegisterManagedVar() {}                                                                    \
  extern "C" void __##NAME##RegisterSurface() {}                                                                       \
  extern "C" void __##NAME##RegisterTexture() {}

RUNTIME(cuda)
RUNTIME(hip)

extern "C" int __cudaPushCallConfiguration() { return 0; }
extern "C" int __cudaPopCallConfiguration() { return 0; }
extern "C" int cudaLaunchKernel() { return 0; }
extern "C" int __hipPushCallConfiguration() { return 0; }
extern "C" int __hipPopCallConfiguration() { return 0; }
extern "C" int hipLaunchKernel() { return 0; }
