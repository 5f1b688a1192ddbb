// Streams work in order and beside each other, the default stream waits and is waited for, events have increasing times, loads
// and unloads wait for kernels that run.
// REQUIRES: virtual-gpu
// RUN: %clang %s -o %t -L%virtual_gpu -lcuda -lpthread
// RUN: env LD_LIBRARY_PATH=%virtual_gpu %t | FileCheck %s
// CHECK: all as described
#include "Inputs/driver.h"
#include <pthread.h>
#include <semaphore.h>

static const char kernels[] = HEAD
    ".visible .global .align 4 .u32 counter = 0;\n"
    // Runs until the host writes to the flag.
    ".visible .entry wait(.param .u64 p) { .reg .u64 %a; .reg .u32 %v; .reg .pred %q;\n"
    "  ld.param.u64 %a, [p];\n"
    "loop: ld.volatile.global.u32 %v, [%a]; setp.eq.u32 %q, %v, 0; @%q bra loop;\n"
    "  st.global.u32 [%a+4], 1; ret; }\n"
    ".visible .entry add(.param .u64 p, .param .u32 n) { .reg .u64 %a; .reg .u32 %v, %n;\n"
    "  ld.param.u64 %a, [p]; ld.param.u32 %n, [n]; ld.global.u32 %v, [%a]; mad.lo.u32 %v, %v, 10, %n;\n"
    "  st.global.u32 [%a], %v; ret; }\n";

static module_t module;
static volatile unsigned *flag;
static context_t context;

static void *load(void *done) {
  module_t second;
  expect(0, cuCtxSetCurrent(context));
  expect(0, cuModuleLoadData(&second, kernels));
  // The kernel has ended.
  require(flag[1] == 1);
  expect(0, cuModuleUnload(second));
  sem_post(done);
  return NULL;
}

static void note(void *value) { *(unsigned *)value = flag[0] + 1; }

int main(void) {
  expect(0, cuInit(0));
  expect(0, cuDevicePrimaryCtxRetain(&context, 0));
  expect(0, cuCtxSetCurrent(context));
  expect(0, cuModuleLoadData(&module, kernels));
  function_t wait, add, again;
  expect(0, cuModuleGetFunction(&wait, module, "wait"));
  expect(0, cuModuleGetFunction(&add, module, "add"));
  expect(0, cuModuleGetFunction(&again, module, "add"));
  require(add == again);
  expect(0, cuMemAllocHost_v2((void **)&flag, 8));
  flag[0] = flag[1] = 0;

  stream_t a, b, free_one;
  event_t before, after;
  expect(0, cuStreamCreate(&a, 0));
  expect(0, cuStreamCreate(&b, 0));
  expect(0, cuStreamCreate(&free_one, 1));
  expect(0, cuEventCreate(&before, 0));
  expect(0, cuEventCreate(&after, 0));

  // A kernel runs in a; b goes on beside it, and the default stream does not.
  address_t memory;
  unsigned one = 1, two = 2, three = 3;
  expect(0, cuMemAlloc_v2(&memory, 8));
  expect(0, cuMemsetD32_v2(memory, 0, 2));
  void *of_wait[] = {(void *)&flag}, *adds_one[] = {&memory, &one}, *adds_two[] = {&memory, &two},
       *adds_three[] = {&memory, &three};
  expect(0, cuEventRecord(before, a));
  expect(0, launch(wait, 1, a, of_wait));
  expect(0, cuEventRecord(after, a));
  expect(600, cuStreamQuery(a));
  expect(600, cuEventQuery(after));
  expect(0, cuEventSynchronize(before));
  float time;
  expect(600, cuEventElapsedTime(&time, before, after));
  expect(0, launch(add, 1, b, adds_one));
  expect(0, cuStreamSynchronize(b));
  unsigned value = 0, seen = 0;
  expect(0, cuMemcpyDtoHAsync_v2(&value, memory, 4, b));
  require(value == 1);
  expect(0, launch(add, 1, NULL, adds_two));
  expect(0, launch(add, 1, b, adds_three));
  expect(600, cuStreamQuery(NULL));
  expect(600, cuStreamQuery(b));
  // Not blocking: does not wait for the default stream, but for the event.
  expect(0, cuLaunchHostFunc(free_one, note, &seen));
  expect(0, cuStreamSynchronize(free_one));
  require(seen == 1);
  expect(0, cuStreamWaitEvent(free_one, after, 0));
  expect(0, cuLaunchHostFunc(free_one, note, &seen));
  expect(600, cuStreamQuery(free_one));

  // Another thread loads a module: that waits.
  pthread_t thread;
  sem_t done;
  sem_init(&done, 0, 0);
  pthread_create(&thread, NULL, load, &done);
  require(sem_trywait(&done) != 0);
  flag[0] = 7;
  pthread_join(thread, NULL);
  require(sem_trywait(&done) == 0);
  expect(0, cuCtxSynchronize());
  require(seen == 8);
  expect(0, cuEventElapsedTime(&time, before, after));
  require(time > 0);
  expect(0, cuMemcpyDtoH_v2(&value, memory, 4));
  require(value == 123);

  // Unloaded while it runs: the kernel ends well.
  flag[0] = flag[1] = 0;
  expect(0, launch(wait, 1, a, of_wait));
  expect(0, cuLaunchHostFunc(free_one, note, &seen));
  flag[0] = 1;
  expect(0, cuModuleUnload(module));
  require(flag[1] == 1);
  expect(400, launch(wait, 1, a, of_wait));

  // Memory that can be paged out may be changed as soon as the call returns.
  unsigned source = 5;
  expect(0, cuMemcpyHtoDAsync_v2(memory, &source, 4, a));
  source = 6;
  expect(0, cuStreamSynchronize(a));
  expect(0, cuMemcpyDtoH_v2(&value, memory, 4));
  require(value == 5);
  unsigned kind = 0;
  expect(0, cuPointerGetAttribute(&kind, 2, memory));
  require(kind == 2);
  expect(1, cuPointerGetAttribute(&kind, 2, (address_t)&kind));
  expect(0, cuMemFreeHost((void *)flag));
  expect(0, cuMemFree_v2(memory));
  puts("all as described");
}
