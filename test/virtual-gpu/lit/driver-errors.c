// Every error of the driver that programs can cause, with its code; what a kernel did wrong is told in one line, and stays.
// REQUIRES: virtual-gpu
// RUN: %clang %s -o %t -L%virtual_gpu -lcuda
// RUN: env LD_LIBRARY_PATH=%virtual_gpu OFFLOOM_VIRTUAL_GPU=sm_80,sm_90 OFFLOOM_VIRTUAL_GPU_MEMORY=64M OFFLOOM_VIRTUAL_GPU_TIMEOUT=2 %t 2>&1 | FileCheck %s
#include "Inputs/driver.h"

static const char kernels[] = HEAD
    ".visible .global .align 4 .u32 answer = 42;\n"
    ".global .align 4 .u32 hidden = 1;\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".visible .entry store(.param .u64 p) { .reg .u64 %a; .reg .u32 %v;\n"
    "  ld.param.u64 %a, [p]; ld.global.u32 %v, [answer]; st.global.u32 [%a], %v; ret; }\n"
    ".visible .entry unallocated() { .reg .u64 %a;\n"
    "  mov.u64 %a, 16; st.global.u32 [%a], 1; ret; }\n"
    ".visible .entry misaligned(.param .u64 p) { .reg .u64 %a;\n"
    "  ld.param.u64 %a, [p]; st.global.u32 [%a+2], 1; ret; }\n"
    ".visible .entry trapped() { trap; }\n"
    ".visible .entry called() { .reg .u64 %a; mov.u64 %a, 4096;\n"
    "  prototype: .callprototype _ ();\n  call %a, (), prototype; ret; }\n"
    ".visible .entry endless() { loop: bra loop; }\n"
    ".visible .entry small() .maxntid 64, 1, 1 { ret; }\n"
    ".visible .entry exact() .reqntid 32, 1, 1 { ret; }\n"
    ".visible .entry none() { ret; }\n";

static function_t function(module_t module, const char *name) {
  function_t found;
  expect(0, cuModuleGetFunction(&found, module, name));
  return found;
}

// A kernel that fails: the launch succeeds, what comes after it does not, in this context alone.
static void fails(const char *name, int code, device_t device, int size) {
  context_t context;
  module_t module;
  address_t memory;
  expect(0, cuCtxCreate_v2(&context, 0, device));
  expect(0, cuModuleLoadData(&module, kernels));
  expect(0, cuMemAlloc_v2(&memory, 64));
  void *parameters[] = {&memory};
  expect(0, launch(function(module, name), size, NULL, parameters));
  expect(code, cuCtxSynchronize());
  expect(code, cuMemAlloc_v2(&memory, 4));
  expect(code, cuStreamSynchronize(NULL));
  expect(code, cuMemcpyHtoD_v2(memory, &code, 4));
  expect(0, cuCtxDestroy_v2(context));
}

int main(void) {
  int count;
  context_t context, other, none;
  device_t device;
  module_t module;
  expect(3, cuDeviceGetCount(&count));
  expect(1, cuInit(1));
  expect(0, cuInit(0));
  expect(0, cuDeviceGetCount(&count));
  require(count == 2);
  expect(101, cuDeviceGet(&device, 2));
  expect(1, cuDeviceGet(NULL, 0));

  // No context.
  address_t memory;
  stream_t stream;
  expect(201, cuMemAlloc_v2(&memory, 4));
  expect(201, cuStreamCreate(&stream, 0));
  expect(201, cuModuleLoadData(&module, kernels));
  expect(201, cuCtxGetDevice(&device));
  expect(201, cuCtxSetCurrent((context_t)64));
  expect(201, cuDevicePrimaryCtxRelease_v2(0));
  expect(0, cuCtxGetCurrent(&none));
  require(none == NULL);

  // Images.
  expect(0, cuDevicePrimaryCtxRetain(&other, 1));
  expect(0, cuDevicePrimaryCtxRetain(&context, 0));
  expect(0, cuCtxSetCurrent(context));
  expect(218, cuModuleLoadData(&module, "no PTX"));
  expect(200, cuModuleLoadData(&module, "\x7f" "ELF, but damaged                                                "));
  // CHECK: virtual GPU: an image cannot be loaded: image:1:1:
  expect(0, cuModuleLoadData(&module, kernels));

  // Names.
  function_t missing;
  size_t size;
  expect(500, cuModuleGetFunction(&missing, module, "missing"));
  expect(500, cuModuleGetGlobal_v2(&memory, &size, module, "missing"));
  expect(500, cuModuleGetGlobal_v2(&memory, &size, module, "hidden"));
  expect(0, cuModuleGetGlobal_v2(&memory, &size, module, "answer"));
  require(size == 4);
  expect(400, cuModuleGetFunction(&missing, (module_t)64, "store"));

  // Memory.
  address_t small;
  expect(2, cuMemAlloc_v2(&memory, 65 << 20));
  expect(1, cuMemAlloc_v2(&memory, 0));
  expect(0, cuMemAlloc_v2(&small, 64));
  expect(1, cuMemFree_v2(small + 4));
  expect(1, cuMemcpyHtoD_v2(small + 60, kernels, 8));
  expect(1, cuMemsetD32_v2(small + 2, 0, 1));

  // Launches.
  void *parameters[] = {&small};
  function_t store = function(module, "store");
  expect(1, launch(store, 0, NULL, parameters));
  expect(1, launch(store, 1025, NULL, parameters));
  expect(1, launch(store, 32, NULL, NULL));
  expect(1, cuLaunchKernel(store, 1, 70000, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  expect(1, cuLaunchKernel(store, 1, 1, 1, 1, 1, 65, 0, NULL, parameters, NULL));
  expect(1, cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 49153, NULL, parameters, NULL));
  expect(0, cuFuncSetAttribute(store, maximum_dynamic_shared, 100 << 10));
  expect(0, cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 49153, NULL, parameters, NULL));
  expect(1, cuFuncSetAttribute(store, maximum_dynamic_shared, 200 << 10));
  expect(701, launch(function(module, "small"), 65, NULL, NULL));
  expect(1, launch(function(module, "exact"), 64, NULL, NULL));
  expect(400, launch((function_t)64, 1, NULL, NULL));

  // A buffer of parameters.
  size_t length = 8;
  void *extra[] = {(void *)1, &small, (void *)2, &length, NULL};
  expect(0, cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
  unsigned answer = 0;
  expect(0, cuMemcpyDtoH_v2(&answer, small, 4));
  require(answer == 42);
  expect(1, cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, extra));
  length = 4;
  expect(1, cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));

  // Things of another context.
  event_t event, start;
  expect(0, cuStreamCreate(&stream, 0));
  expect(0, cuEventCreate(&start, 2));
  expect(0, cuCtxSetCurrent(other));
  expect(0, cuEventCreate(&event, 0));
  expect(400, launch(store, 1, NULL, parameters));
  expect(400, cuEventRecord(event, stream));
  expect(0, cuModuleLoadData(&module, kernels));
  expect(400, launch(function(module, "none"), 1, stream, NULL));

  // Events.
  float time;
  expect(400, cuEventElapsedTime(&time, event, event));
  expect(400, cuEventElapsedTime(&time, start, event));
  expect(0, cuEventQuery(event));
  expect(0, cuEventDestroy_v2(event));
  expect(400, cuEventRecord(event, NULL));
  expect(0, cuStreamDestroy_v2(stream));
  expect(400, cuStreamSynchronize(stream));

  // Limits and peers.
  expect(215, cuCtxGetLimit(&size, 77));
  expect(1, cuCtxSetLimit(0, 1 << 30));
  expect(1, cuCtxEnablePeerAccess(other, 0));
  expect(0, cuCtxEnablePeerAccess(context, 0));
  expect(704, cuCtxEnablePeerAccess(context, 0));

  // What kernels do wrong.
  // CHECK: virtual GPU: kernel `unallocated`, image:{{[0-9]+}} (`st.global.u32`), block (0, 0, 0), thread (0, 0, 0): illegal address: {{.*}} (error 700)
  fails("unallocated", 700, 0, 32);
  // CHECK-NEXT: virtual GPU: kernel `misaligned`, {{.*}}: misaligned address: {{.*}} (error 716)
  fails("misaligned", 716, 1, 1);
  // CHECK-NEXT: virtual GPU: kernel `called`, {{.*}} (error 718)
  fails("called", 718, 0, 1);
  // CHECK-NEXT: virtual GPU: kernel `trapped`, {{.*}}: trap: {{.*}} (error 719)
  fails("trapped", 719, 0, 1);
  // CHECK-NEXT: virtual GPU: kernel `endless`, {{.*}} (error 702)
  fails("endless", 702, 0, 1);

  // The other contexts are as they were.
  expect(0, cuCtxSetCurrent(context));
  expect(0, launch(store, 1, NULL, parameters));
  expect(0, cuCtxSynchronize());
  expect(0, cuDevicePrimaryCtxRelease_v2(0));
  expect(709, cuCtxSynchronize());

  const char *text;
  expect(0, cuGetErrorName(716, &text));
  require(!strcmp(text, "CUDA_ERROR_MISALIGNED_ADDRESS"));
  expect(1, cuGetErrorString(12345, &text));
  void *entry;
  unsigned status;
  expect(0, cuGetProcAddress_v2("cuMemAlloc", &entry, 12000, 0, &status));
  require(entry == (void *)cuMemAlloc_v2);
  expect(500, cuGetProcAddress_v2("cuNothing", &entry, 12000, 0, &status));
  require(status == 1);
  // CHECK-NEXT: all as described
  puts("all as described");
}
