// The functions of NVIDIA's driver that the tests call, and a check of what they answer.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int device_t;
typedef uint64_t address_t;
typedef struct context *context_t;
typedef struct module *module_t;
typedef struct function *function_t;
typedef struct stream *stream_t;
typedef struct event *event_t;

int cuInit(unsigned);
int cuGetErrorName(int, const char **);
int cuGetErrorString(int, const char **);
int cuGetProcAddress_v2(const char *, void **, int, uint64_t, unsigned *);
int cuDeviceGet(device_t *, int);
int cuDeviceGetCount(int *);
int cuDeviceGetAttribute(int *, unsigned, device_t);
int cuDevicePrimaryCtxRetain(context_t *, device_t);
int cuDevicePrimaryCtxRelease_v2(device_t);
int cuCtxCreate_v2(context_t *, unsigned, device_t);
int cuCtxDestroy_v2(context_t);
int cuCtxSetCurrent(context_t);
int cuCtxGetCurrent(context_t *);
int cuCtxGetDevice(device_t *);
int cuCtxSynchronize(void);
int cuCtxGetLimit(size_t *, unsigned);
int cuCtxSetLimit(unsigned, size_t);
int cuCtxEnablePeerAccess(context_t, unsigned);
int cuModuleLoadData(module_t *, const void *);
int cuModuleUnload(module_t);
int cuModuleGetFunction(function_t *, module_t, const char *);
int cuModuleGetGlobal_v2(address_t *, size_t *, module_t, const char *);
int cuFuncGetAttribute(int *, unsigned, function_t);
int cuFuncSetAttribute(function_t, unsigned, int);
int cuFuncGetModule(module_t *, function_t);
int cuFuncGetName(const char **, function_t);
int cuFuncGetParamInfo(function_t, size_t, size_t *, size_t *);
int cuOccupancyMaxPotentialBlockSize(int *, int *, function_t, void *, size_t, int);
int cuMemGetInfo_v2(size_t *, size_t *);
int cuMemAlloc_v2(address_t *, size_t);
int cuMemAllocHost_v2(void **, size_t);
int cuMemFree_v2(address_t);
int cuMemFreeHost(void *);
int cuMemcpyHtoD_v2(address_t, const void *, size_t);
int cuMemcpyDtoH_v2(void *, address_t, size_t);
int cuMemcpyHtoDAsync_v2(address_t, const void *, size_t, stream_t);
int cuMemcpyDtoHAsync_v2(void *, address_t, size_t, stream_t);
int cuMemsetD32_v2(address_t, unsigned, size_t);
int cuPointerGetAttribute(void *, unsigned, address_t);
int cuStreamCreate(stream_t *, unsigned);
int cuStreamDestroy_v2(stream_t);
int cuStreamSynchronize(stream_t);
int cuStreamQuery(stream_t);
int cuStreamWaitEvent(stream_t, event_t, unsigned);
int cuLaunchHostFunc(stream_t, void (*)(void *), void *);
int cuEventCreate(event_t *, unsigned);
int cuEventDestroy_v2(event_t);
int cuEventRecord(event_t, stream_t);
int cuEventSynchronize(event_t);
int cuEventQuery(event_t);
int cuEventElapsedTime(float *, event_t, event_t);
int cuLaunchKernel(function_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream_t, void **,
                   void **);

enum { maximum_threads = 0, shared_bytes = 1, local_bytes = 3, registers = 4, maximum_dynamic_shared = 8 };

// Ends the program where a call does not answer with the code that is expected.
#define expect(code, call) check(__FILE__, __LINE__, #call, code, call)
#define require(condition) check(__FILE__, __LINE__, #condition, 1, !!(condition))

static inline void check(const char *file, int line, const char *text, int expected, int answer) {
  if (answer == expected)
    return;
  printf("%s:%d: %s: %d, not %d\n", file, line, text, answer, expected);
  exit(1);
}

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"

// A launch of one block, by the list of pointers to parameters.
static inline int launch(function_t function, unsigned threads, stream_t stream, void **parameters) {
  return cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
}
