// Memory that the program has from elsewhere: kernels reach it where it is registered, and all of it if the device takes part in the host's
// paging. Cooperative launches: blocks wait for each other, and too many are refused.
// REQUIRES: virtual-gpu
// RUN: %clang %s -o %t -L%virtual_gpu -lcuda
// RUN: env LD_LIBRARY_PATH=%virtual_gpu OFFLOOM_VIRTUAL_GPU_MULTIPROCESSORS=2 %t 2>&1 | FileCheck %s
// RUN: env LD_LIBRARY_PATH=%virtual_gpu OFFLOOM_VIRTUAL_GPU_HOST_MEMORY=1 %t all 2>&1 | FileCheck --check-prefix=ALL %s
#include "Inputs/driver.h"

int cuMemHostRegister_v2(void *, size_t, unsigned);
int cuMemHostUnregister(void *);
int cuMemHostGetDevicePointer_v2(address_t *, void *, unsigned);
int cuLaunchCooperativeKernel(function_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream_t, void **);

static const char kernels[] = HEAD
    ".visible .global .align 4 .u32 arrived = 0;\n"
    ".visible .entry add(.param .u64 p) { .reg .u64 %a; .reg .u32 %v;\n"
    "  ld.param.u64 %a, [p]; atom.add.u32 %v, [%a], 1; ld.u32 %v, [%a+4]; add.u32 %v, %v, 2; st.u32 [%a+4], %v; ret; }\n"
    // Each block waits until all have come.
    ".visible .entry meet() { .reg .u32 %v, %n, %t; .reg .pred %q; mov.u32 %n, %nctaid.x;\n"
    "  atom.global.add.u32 %v, [arrived], 1;\n"
    "loop: ld.volatile.global.u32 %v, [arrived]; setp.lt.u32 %q, %v, %n; @%q bra loop; ret; }\n";

static const unsigned constants[2] = {1, 2};

int main(int count, char **arguments) {
  context_t context;
  module_t module;
  function_t add, meet;
  address_t address;
  int pageable;
  expect(0, cuInit(0));
  expect(0, cuDevicePrimaryCtxRetain(&context, 0));
  expect(0, cuCtxSetCurrent(context));
  expect(0, cuModuleLoadData(&module, kernels));
  expect(0, cuModuleGetFunction(&add, module, "add"));
  expect(0, cuModuleGetFunction(&meet, module, "meet"));
  expect(0, cuDeviceGetAttribute(&pageable, 88, 0));
  require(pageable == (count > 1));

  unsigned *words = malloc(2 * sizeof *words);
  unsigned on_stack[2] = {10, 20};
  words[0] = 3, words[1] = 4;
  void *parameters[] = {&words};
  if (count > 1) {
    expect(0, launch(add, 1, NULL, parameters));
    parameters[0] = (unsigned *[]){on_stack};
    expect(0, launch(add, 1, NULL, parameters));
    expect(0, cuCtxSynchronize());
    require(words[0] == 4 && words[1] == 6 && on_stack[0] == 11 && on_stack[1] == 22);
    // What the process itself may not write.
    parameters[0] = (const unsigned *[]){constants};
    expect(0, launch(add, 1, NULL, parameters));
    // ALL: virtual GPU: kernel `add`, {{.*}}: illegal address: {{.*}} (error 700)
    expect(700, cuCtxSynchronize());
    // ALL: all as described
    puts("all as described");
    return 0;
  }

  expect(1, cuMemHostGetDevicePointer_v2(&address, words, 0));
  expect(1, cuMemHostRegister_v2(NULL, 8, 0));
  expect(1, cuMemHostRegister_v2((void *)0x9000000000, 8, 0));
  expect(0, cuMemHostRegister_v2(words, 2 * sizeof *words, 0));
  expect(712, cuMemHostRegister_v2(words, 4, 0));
  expect(0, cuMemHostGetDevicePointer_v2(&address, words, 0));
  require(address == (address_t)words);
  expect(0, launch(add, 1, NULL, parameters));
  expect(0, cuCtxSynchronize());
  require(words[0] == 4 && words[1] == 6);

  // Two multiprocessors, 64 warps each.
  expect(720, cuLaunchCooperativeKernel(meet, 5, 1, 1, 1024, 1, 1, 0, NULL, NULL));
  expect(1, cuLaunchCooperativeKernel(meet, 0, 1, 1, 1024, 1, 1, 0, NULL, NULL));
  expect(0, cuLaunchCooperativeKernel(meet, 4, 1, 1, 1, 1, 1, 0, NULL, NULL));
  expect(0, cuCtxSynchronize());

  expect(0, cuMemHostUnregister(words));
  expect(713, cuMemHostUnregister(words));
  expect(0, launch(add, 1, NULL, parameters));
  // CHECK: virtual GPU: kernel `add`, {{.*}}: illegal address: {{.*}} (error 700)
  expect(700, cuCtxSynchronize());
  // CHECK: all as described
  puts("all as described");
  return 0;
}
